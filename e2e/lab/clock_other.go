//go:build !linux

package lab

import (
	"errors"
	"time"
)

// ProcessTime returns an error: nothing here reads what a process uses.
func ProcessTime(int) (time.Duration, error) { return 0, errors.New("the bench needs Linux") }
