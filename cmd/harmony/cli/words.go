package cli

import (
	"fmt"
	"strings"
	"time"
)

// Plural returns a number with the word for what is counted.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// IfTrue returns s if yes is true, else "".
func IfTrue(yes bool, s string) string {
	if yes {
		return s
	}
	return ""
}

// Plain reports whether a name needs no quotes in a shell or in YAML.
func Plain(name string) bool {
	const marks = "-._/:@+"
	return name != "" && len(name) <= 200 && !strings.ContainsFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(marks, r)
	}) && !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "@")
}

// FormatDuration returns a duration for a message, in seconds where it is a whole number of them and under 10 minutes.
func FormatDuration(d time.Duration) string {
	if d%time.Second == 0 && d < 10*time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return d.String()
}
