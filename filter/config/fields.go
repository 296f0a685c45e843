package config

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// object reads each member of an object into the field of its name. Members without a field are passed to other, which
// reports whether it knows them. other may be nil.
func (p *parser) object(
	path string, v *rawjson.Value, fields []contract.Field,
	other func(name, key string, value *rawjson.Value) (known bool),
) {
	if v.Kind != rawjson.Object {
		p.fail(path, "must be an object")
		return
	}
	for i := range v.Members {
		name, value := v.Members[i].Key, &v.Members[i].Value
		key := join(path, name)
		known := other != nil && other(name, key, value)
		for j := range fields {
			if fields[j].Key == name {
				p.field(key, value, &fields[j])
				known = true
			}
		}
		if !known {
			p.fail(key, "unknown key")
		}
	}
	for i := range fields {
		if f := &fields[i]; f.Required && f.IsAbsent() {
			p.fail(join(path, f.Key), "is required")
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (p *parser) field(key string, v *rawjson.Value, f *contract.Field) {
	switch {
	case f.Block != nil:
		if f.Optional {
			contract.SetDefaults(f.Block)
		}
		p.object(key, v, f.Block, nil)
	case f.Blocks != nil:
		p.blocks(key, v, f.Blocks)
	case f.Flag != nil:
		if v.Kind != rawjson.Bool {
			p.fail(key, "must be true or false")
		}
		*f.Flag = v.Bool
	case f.Number != nil:
		*f.Number = p.integer(key, v, f.Min, f.Max)
	case f.Fraction != nil:
		*f.Fraction = p.fraction(key, v)
	case f.List != nil:
		*f.List = p.list(key, v, f)
	case f.Object != nil:
		if v.Kind != rawjson.Object {
			p.fail(key, "must be an object")
			return
		}
		*f.Object = contract.Object(rawjson.AppendValue(nil, v))
	case f.Words != nil:
		*f.Text = p.oneOf(key, v, f.Words)
	case f.Text != nil:
		*f.Text = v.Text
		if v.Kind != rawjson.String {
			p.fail(key, "must be a string")
		}
		if !f.Allowed() {
			p.fail(key, f.Must)
		}
	}
}

func (p *parser) blocks(path string, v *rawjson.Value, all *contract.Blocks) {
	all.Clear()
	if v.Kind != rawjson.Array {
		p.fail(path, "must be an array")
		return
	}
	if len(v.Elements) > all.Max {
		p.fail(path, "has "+strconv.Itoa(len(v.Elements))+" entries; at most "+strconv.Itoa(all.Max)+" are allowed")
		return
	}
	for i := range v.Elements {
		p.object(path+"["+strconv.Itoa(i)+"]", &v.Elements[i], all.Add(), nil)
	}
}

func (p *parser) integer(path string, v *rawjson.Value, low, high int) int {
	n, err := strconv.Atoi(v.Text)
	if v.Kind != rawjson.Number || err != nil || n < low || n > high {
		p.fail(path, "must be a whole number from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
	}
	return n
}

func (p *parser) fraction(path string, v *rawjson.Value) float64 {
	f, err := strconv.ParseFloat(v.Text, 64)
	if v.Kind != rawjson.Number || err != nil || !(f >= 0 && f <= 1) {
		p.fail(path, "must be a number from 0 to 1")
	}
	return f
}

func (p *parser) list(path string, v *rawjson.Value, f *contract.Field) []string {
	if v.Kind != rawjson.Array {
		p.fail(path, "must be an array")
		return nil
	}
	all := make([]string, 0, len(v.Elements))
	for i := range v.Elements {
		e, at := &v.Elements[i], path+"["+strconv.Itoa(i)+"]"
		switch {
		case f.Words != nil:
			all = append(all, p.oneOf(at, e, f.Words))
		case e.Kind == rawjson.String && f.AllowsElement(e.Text):
			all = append(all, e.Text)
		default:
			p.fail(at, f.Must)
		}
	}
	return all
}

// oneOf returns the word that v is, or "" for any other value.
func (p *parser) oneOf(path string, v *rawjson.Value, words []string) string {
	known := ""
	for i, w := range words {
		if v.Kind == rawjson.String && v.Text == w {
			return w
		}
		if i > 0 {
			known += ", "
		}
		known += `"` + w + `"`
	}
	p.fail(path, "must be one of "+known)
	return ""
}
