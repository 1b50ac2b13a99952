-- $1 the token above which all later ones are.
SELECT setval('{s}.lease_tokens', greatest($1, (SELECT last_value FROM {s}.lease_tokens)))
