module github.com/leasehold/leasehold/bench/readers

go 1.26
