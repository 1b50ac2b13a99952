SELECT token FROM lease_fence WHERE resource = $1
