//go:build !linux

package main

import (
	"errors"
	"time"
)

// processTime returns an error: package hosts cannot read memory here either.
func processTime(int) (time.Duration, error) { return 0, errors.New("the bench needs Linux") }
