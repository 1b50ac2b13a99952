SELECT c.account, c.name, b.name
FROM (SELECT container, name, max(staged) AS last FROM blob_blocks GROUP BY container, name) b
  JOIN blob_containers c ON c.id = b.container
WHERE b.last <= ? AND NOT c.deleting LIMIT ? + 0
