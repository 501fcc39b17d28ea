package reader_test

import (
	"github.com/dogear/dogear/reader"
	"github.com/dogear/dogear/sink/folder"
	"github.com/dogear/dogear/source/list"
)

var (
	_ reader.Sink   = (*folder.Sink)(nil)
	_ reader.Source = (*list.List)(nil)
)
