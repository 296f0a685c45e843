package main

import (
	"errors"
	"strconv"
	"strings"
)

// step is what the probe does in the callbacks that the step's name matches.
type step struct {
	callback string
	commands [][]string
}

var errScript = errors.New("a step is CALLBACK: COMMAND ARGUMENT…, COMMAND…")

// parse reads a script.
func parse(script string) ([]step, error) {
	var steps []step
	rest := script
	for {
		rest = strings.TrimLeft(rest, " \t\n;")
		if rest == "" {
			return steps, nil
		}
		name, after, ok := strings.Cut(rest, ":")
		if !ok || name == "" || strings.ContainsAny(name, " ,;\"") {
			return nil, errScript
		}
		s := step{callback: name}
		rest = after
		var command []string
		for end := false; !end; {
			rest = strings.TrimLeft(rest, " \t\n")
			switch {
			case rest == "" || rest[0] == ';':
				end = true
			case rest[0] == ',':
				rest = rest[1:]
			default:
				arg, left, err := argument(rest)
				if err != nil {
					return nil, err
				}
				command, rest = append(command, arg), left
				continue
			}
			if len(command) > 0 {
				s.commands = append(s.commands, command)
			}
			command = nil
		}
		steps = append(steps, s)
	}
}

// argument cuts one argument from the beginning of text.
func argument(text string) (value, rest string, err error) {
	if text[0] == '"' {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", "", errScript
		}
		if value, err = strconv.Unquote(quoted); err != nil {
			return "", "", errScript
		}
		rest = text[len(quoted):]
		end := strings.IndexAny(rest, " \t\n,;")
		if end < 0 {
			end = len(rest)
		}
		if end > 0 {
			n, err := strconv.Atoi(strings.TrimPrefix(rest[:end], "*"))
			if err != nil || rest[0] != '*' {
				return "", "", errScript
			}
			value, rest = strings.Repeat(value, n), rest[end:]
		}
		return value, rest, nil
	}
	end := strings.IndexAny(text, " \t\n,;")
	if end < 0 {
		end = len(text)
	}
	value, rest = text[:end], text[end:]
	if star := strings.LastIndexByte(value, '*'); star > 0 {
		if n, err := strconv.Atoi(value[star+1:]); err == nil {
			value = strings.Repeat(value[:star], n)
		}
	}
	return value, rest, nil
}

// maxShown is how many bytes of a text appear in the log.
const maxShown = 80

// show returns a text as it appears in the log.
func show(text string) string {
	if len(text) <= maxShown {
		return strconv.QuoteToASCII(text)
	}
	return strconv.QuoteToASCII(text[:16]) + "…" + strconv.QuoteToASCII(text[len(text)-16:]) + " (" +
		strconv.Itoa(len(text)) + " bytes)"
}

// showCommand returns a command as it appears in the log.
func showCommand(command []string) string {
	shown := make([]string, len(command))
	for i, c := range command {
		shown[i] = c
		if len(c) > maxShown || c == "" || strings.ContainsAny(c, " ,;\"\n\r\x00") {
			shown[i] = show(c)
		}
	}
	return strings.Join(shown, " ")
}
