module coffer.dev/go

go 1.24
