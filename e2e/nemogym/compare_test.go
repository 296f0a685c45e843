//go:build e2e

package nemogym

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// missing stands for a member or an element that is not there.
type missing struct{}

// difference is a place at which theirs and ours are not the same.
type difference struct {
	path         string
	theirs, ours any
	// theirItem and ourItem are the elements of response.output in which it is.
	theirItem, ourItem any
}

// compare appends the differences of two JSON values. Numbers are equal if they are equal as float64.
func compare(all []difference, path string, theirs, ours any) []difference {
	switch a := theirs.(type) {
	case map[string]any:
		b, ok := ours.(map[string]any)
		if !ok {
			break
		}
		names := map[string]bool{}
		for name := range a {
			names[name] = true
		}
		for name := range b {
			names[name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			all = compare(all, path+"."+name, member(a, name), member(b, name))
		}
		return all
	case []any:
		b, ok := ours.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			all = compare(all, path+"["+strconv.Itoa(i)+"]", a[i], b[i])
		}
		return all
	case json.Number:
		if b, ok := ours.(json.Number); ok && number(a) == number(b) {
			return all
		}
	default:
		if scalar(theirs) && scalar(ours) && theirs == ours {
			return all
		}
	}
	return append(all, difference{path: path, theirs: theirs, ours: ours})
}

func member(o map[string]any, name string) any {
	if v, ok := o[name]; ok {
		return v
	}
	return missing{}
}

func scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// isMissing reports whether a value is not there, or null.
func isMissing(v any) bool { return v == nil || v == missing{} }
