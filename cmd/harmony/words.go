package main

import (
	"fmt"
	"strings"
	"time"
)

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func ifTrue(yes bool, s string) string {
	if yes {
		return s
	}
	return ""
}

// plain reports whether a name needs no quotes in a shell or in YAML.
func plain(name string) bool {
	const marks = "-._/:@+"
	return name != "" && len(name) <= 200 && !strings.ContainsFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(marks, r)
	}) && !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "@")
}

// formatDuration returns a duration for a message, in seconds where it is a whole number of them and under 10 minutes.
func formatDuration(d time.Duration) string {
	if d%time.Second == 0 && d < 10*time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return d.String()
}
