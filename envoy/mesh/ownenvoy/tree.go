package ownenvoy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/proto"

	"github.com/harmonyedge/harmonyedge/envoy/mesh"
)

// object is a mapping of a YAML file, with its members in order. Envoy takes each name in two forms, http_filters and
// httpFilters, and so do the methods here.
type object struct{ members yaml.MapSlice }

// parse reads a file.
func parse(text []byte) (*object, error) {
	var value any
	if err := yaml.UnmarshalWithOptions(text, &value, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	root, ok := fromYAML(value).(*object)
	if !ok {
		return nil, errors.New("it is not a mapping, as Envoy's configuration is")
	}
	return root, nil
}

// ofMessage returns a message of Envoy's API.
func ofMessage(m proto.Message) (*object, error) {
	value, err := mesh.Value(m)
	if err != nil {
		return nil, err
	}
	return fromYAML(value).(*object), nil
}

func fromYAML(value any) any {
	switch v := value.(type) {
	case yaml.MapSlice:
		o := &object{}
		for _, item := range v {
			o.members = append(o.members, yaml.MapItem{Key: item.Key, Value: fromYAML(item.Value)})
		}
		return o
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = fromYAML(v[i])
		}
		return list
	}
	return value
}

func toYAML(value any) any {
	switch v := value.(type) {
	case *object:
		members := yaml.MapSlice{}
		for _, item := range v.members {
			members = append(members, yaml.MapItem{Key: item.Key, Value: toYAML(item.Value)})
		}
		return members
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = toYAML(v[i])
		}
		return list
	}
	return value
}

// of returns a new object with one member.
func of(name string, value any) *object {
	return &object{yaml.MapSlice{{Key: name, Value: value}}}
}

// index returns the place of a member, or -1.
func (o *object) index(name string) int {
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	other := strings.Join(words, "")
	for i, item := range o.members {
		if item.Key == name || item.Key == other {
			return i
		}
	}
	return -1
}

// get returns a member, or nil.
func (o *object) get(name string) any {
	if i := o.index(name); i >= 0 {
		return o.members[i].Value
	}
	return nil
}

// text returns a member that is a text, or "".
func (o *object) text(name string) string {
	text, _ := o.get(name).(string)
	return text
}

func (o *object) set(name string, value any) {
	if i := o.index(name); i >= 0 {
		o.members[i].Value = value
		return
	}
	o.members = append(o.members, yaml.MapItem{Key: name, Value: value})
}

// object returns a member that is a mapping, or nil. The object itself is at this place in the file.
func (o *object) object(at, name string) (*object, error) {
	value := o.get(name)
	if value == nil {
		return nil, nil
	}
	inner, ok := value.(*object)
	if !ok {
		return nil, fmt.Errorf("%s: it is not a mapping", join(at, name))
	}
	return inner, nil
}

// made is like object, and adds the mapping if it is not there.
func (o *object) made(at, name string) (*object, error) {
	inner, err := o.object(at, name)
	if inner == nil && err == nil {
		inner = &object{}
		o.set(name, inner)
	}
	return inner, err
}

// list returns a member that is a list of mappings.
func (o *object) list(at, name string) ([]*object, error) {
	value := o.get(name)
	if value == nil {
		return nil, nil
	}
	items, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("%s: it is not a list", join(at, name))
	}
	var list []*object
	for i, item := range items {
		inner, ok := item.(*object)
		if !ok {
			return nil, fmt.Errorf("%s[%d]: it is not a mapping", join(at, name), i)
		}
		list = append(list, inner)
	}
	return list, nil
}

// insert puts values into a list, at an index.
func (o *object) insert(name string, index int, values ...any) {
	items, _ := o.get(name).([]any)
	all := append([]any{}, items[:index]...)
	all = append(all, values...)
	o.set(name, append(all, items[index:]...))
}

// isType reports whether the object is a message of this type, which is packed.
func (o *object) isType(name string) bool {
	return strings.HasSuffix(o.text("@type"), "."+name)
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// number returns a number, which JSON of protocol buffers may have as a text.
func number(value any) (uint64, bool) {
	n, err := strconv.ParseUint(fmt.Sprint(value), 10, 64)
	return n, err == nil
}
