package config

import (
	"reflect"
	"slices"
	"strings"
)

// Part is what a program runs that reads some settings only when it starts.
type Part string

// The parts.
const (
	// PartEnvoy is the Envoy that harmony up starts, and PartPage is its page.
	PartEnvoy Part = "Envoy"
	PartPage  Part = "the page"
	// PartUp is harmony up as a whole: its page and its service reach the gateway at the first listener's address. In a
	// control plane a change of listeners is live.
	PartUp Part = "harmony up"
	// PartService is the responses service.
	PartService Part = "the responses service"
	// PartHost is the filter in the program itself, without Envoy. It reads everything at its start that Envoys get.
	PartHost Part = "the filter in this program"
)

// NextStart returns why a program that runs these parts cannot go from one configuration to another: the first setting
// that differs and that one of the parts reads only when it starts. It returns nil if there is none. program is what to
// start again, such as harmony up. A responses service that appears or goes needs no start.
func NextStart(before, after *Config, program string, running ...Part) *Error {
	keeps := before.ResponsesService.Store != "" && after.ResponsesService.Store != ""
	old := map[string]any{}
	walk("", before.Fields(), func(path string, f *Field) { old[path] = f.At })
	var found *Error
	refuse := func(path string, p Part) {
		if found == nil {
			found = ReadAtStart(path, p, program)
		}
	}
	walk("", after.Fields(), func(path string, f *Field) {
		if f.Start == "" || f.Start == PartUp || !slices.Contains(running, f.Start) || f.Start == PartService && !keeps {
			return
		}
		if !reflect.DeepEqual(old[path], f.At) {
			refuse(path, f.Start)
		}
	})
	if slices.Contains(running, PartUp) && before.AllListeners()[0] != after.AllListeners()[0] {
		path := "listen"
		if len(after.Listeners) > 0 {
			path = "listeners[0]"
		}
		refuse(path, PartUp)
	}
	if found == nil && slices.Contains(running, PartHost) {
		if path := hostChange(before, after); path != "" {
			refuse(path, PartHost)
		}
	}
	return found
}

// ReadAtStart returns why a setting cannot change while a program runs: a part reads it only when it starts.
func ReadAtStart(path string, p Part, program string) *Error {
	return &Error{Field: path, Reason: "takes effect at the next start: " + string(p) + " reads it only when it starts; " +
		"start " + program + " again, or take the change back"}
}

// hostChange returns the path of the first setting that differs and that Envoys would get, or "".
func hostChange(before, after *Config) string {
	was, is := before.ResponsesService, after.ResponsesService
	for _, path := range Changes(before, after) {
		if !strings.HasPrefix(path, "responses_service.") {
			path, _, _ = strings.Cut(path, " ")
			return path
		}
	}
	if was.Address() != is.Address() || was.filter() != is.filter() {
		return "responses_service"
	}
	return ""
}
