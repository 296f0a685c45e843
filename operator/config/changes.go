package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// Changes returns the paths of the settings in which two configurations differ. An entry of a list is named in its
// path, as in models[gpt-oss-120b].context_length. Values are left out, because some are confidential.
func Changes(before, after *Config) []string { return changes("", before.Fields(), after.Fields()) }

// changes compares two lists of the same block.
func changes(prefix string, before, after []Field) []string {
	var all []string
	for i := range after {
		f, path := &after[i], prefix+after[i].Key
		switch {
		case f.Entries != nil:
			all = append(all, listChanges(path, before[i].Entries, f.Entries)...)
		case f.Block != nil:
			all = append(all, changes(path+".", before[i].Block, f.Block)...)
		case !reflect.DeepEqual(before[i].At, f.At):
			all = append(all, path)
		}
	}
	return all
}

// listChanges compares entries by their names, so that a new first entry does not change all others.
func listChanges(path string, before, after *Entries) []string {
	old, names := before.named()
	var all, now []string
	for i := range after.len {
		fields := after.at(i)
		name := after.nameOf(i, fields)
		now = append(now, name)
		entry := fmt.Sprintf("%s[%s]", path, name)
		if previous, ok := old[name]; ok {
			all = append(all, changes(entry+".", previous, fields)...)
		} else {
			all = append(all, entry+" is new")
		}
	}
	for _, name := range names {
		if !slices.Contains(now, name) {
			all = append(all, fmt.Sprintf("%s[%s] is removed", path, name))
		}
	}
	if len(all) == 0 && !slices.Equal(names, now) {
		return []string{path + " is in another order"}
	}
	return all
}

// named returns the entries by their names, and the names in their order.
func (e *Entries) named() (entries map[string][]Field, names []string) {
	entries = map[string][]Field{}
	for i := range e.len {
		fields := e.at(i)
		name := e.nameOf(i, fields)
		entries[name], names = fields, append(names, name)
	}
	return entries, names
}

// nameOf returns the name of an entry, or its number if it has none.
func (e *Entries) nameOf(i int, entry []Field) string { return cmp.Or(nameOf(entry), strconv.Itoa(i)) }

// nameOf returns the name of a list's entry, by which people know it.
func nameOf(entry []Field) string {
	for i := range entry {
		if name, ok := entry[i].At.(*string); ok && (entry[i].Key == "name" || entry[i].Key == "label") {
			return *name
		}
	}
	return ""
}

// OnlyUp returns the names of the settings in c that only harmony up uses. They concern the Envoy that it runs.
func (c *Config) OnlyUp() []string {
	var names []string
	defaults, fields := Default().Fields(), c.Fields()
	for i := range fields {
		only := map[string]bool{}
		walk("", fields[i:i+1], func(path string, f *Field) { only[path] = f.Start == PartEnvoy || f.Start == PartPage })
		if slices.ContainsFunc(changes("", defaults[i:i+1], fields[i:i+1]), func(path string) bool { return only[path] }) {
			names = append(names, fields[i].Key)
		}
	}
	return names
}
