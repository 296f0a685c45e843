//go:build !linux

package main

import (
	"errors"
	"syscall"
)

// loopbackOnly returns an error: elsewhere the loopback interface has one address of 127.0.0.0/8 alone.
func loopbackOnly(_, _ string, _ syscall.RawConn) error { return errors.New("the bench needs Linux") }
