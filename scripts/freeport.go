//go:build ignore

// Freeport prints a TCP port of 127.0.0.1 that the system says is free: for servers that
// cannot be told to choose one themselves.
package main

import (
	"fmt"
	"net"
	"os"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
}
