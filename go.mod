module github.com/dogear/dogear

go 1.26
