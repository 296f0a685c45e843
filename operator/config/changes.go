package config

import (
	"fmt"
	"reflect"
)

// Changes returns the paths of the settings in which two configurations differ. An entry of a list is named in its
// path, as in models[gpt-oss-120b].context_length. Values are left out, because some are confidential.
func Changes(before, after *Config) []string {
	return changes("", reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem())
}

func changes(path string, before, after reflect.Value) []string {
	if reflect.DeepEqual(before.Interface(), after.Interface()) {
		return nil
	}
	t := before.Type()
	switch {
	case t.Kind() == reflect.Struct && len(settings(t)) > 0:
		var all []string
		for _, f := range fieldsOf(t) {
			name := f.Tag.Get("yaml")
			if path != "" {
				name = path + "." + name
			}
			all = append(all, changes(name, before.FieldByIndex(f.Index), after.FieldByIndex(f.Index))...)
		}
		return all
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && nameOf(reflect.Zero(t.Elem())) != nil:
		return listChanges(path, before, after)
	}
	return []string{path}
}

// nameOf returns the name of a list's entry, or nil if it has none.
func nameOf(entry reflect.Value) *string {
	if f := entry.FieldByName("Name"); f.IsValid() && f.Kind() == reflect.String {
		name := f.String()
		return &name
	}
	return nil
}

// listChanges compares entries by their names, so that a new first entry does not change all others.
func listChanges(path string, before, after reflect.Value) []string {
	old := map[string]reflect.Value{}
	for i := range before.Len() {
		old[*nameOf(before.Index(i))] = before.Index(i)
	}
	var all []string
	seen := map[string]bool{}
	for i := range after.Len() {
		name := *nameOf(after.Index(i))
		seen[name] = true
		entry := fmt.Sprintf("%s[%s]", path, name)
		if previous, ok := old[name]; ok {
			all = append(all, changes(entry, previous, after.Index(i))...)
		} else {
			all = append(all, entry+" is new")
		}
	}
	for i := range before.Len() {
		if name := *nameOf(before.Index(i)); !seen[name] {
			all = append(all, fmt.Sprintf("%s[%s] is removed", path, name))
		}
	}
	if len(all) == 0 {
		return []string{path + " is in another order"}
	}
	return all
}

// OnlyUp returns the names of the settings in c that only harmony up uses. They concern the Envoy that it runs.
func (c *Config) OnlyUp() []string {
	var names []string
	if c.Admin != DefaultAdmin {
		names = append(names, "admin")
	}
	if c.Envoy != Default().Envoy {
		names = append(names, "envoy")
	}
	return names
}
