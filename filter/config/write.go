package config

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// AppendJSON appends the configuration as [Parse] reads it. It leaves out settings that have their defaults. An older
// filter refuses settings that it does not know, so it still accepts every configuration that does not use them.
func AppendJSON(dst []byte, c *contract.Config) []byte {
	dst = rawjson.AppendInt(append(dst, `{"schema":`...), int64(c.Schema))
	dst, _ = appendFields(dst, c.Fields(), false)
	if len(c.Models) > 0 {
		dst = append(dst, `,"models":[`...)
		for i := range c.Models {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, _ = appendFields(append(dst, '{'), c.Models[i].Fields(), true)
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendFields appends the members of an object that differ from their defaults, or that are required. first reports
// whether the object has no member yet, and none whether it still has none afterwards.
func appendFields(dst []byte, fields []contract.Field, first bool) (out []byte, none bool) {
	for i := range fields {
		f := &fields[i]
		if f.IsAbsent() || f.IsDefault() && !f.Required {
			continue
		}
		before := len(dst)
		if !first {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendString(dst, f.Key), ':')
		if f.Block != nil {
			if dst, none = appendFields(append(dst, '{'), f.Block, true); none {
				dst = dst[:before]
				continue
			}
			dst = append(dst, '}')
		} else if f.Blocks != nil {
			dst = appendBlocks(dst, f.Blocks)
		} else {
			dst = appendValue(dst, f)
		}
		first = false
	}
	return dst, first
}

func appendBlocks(dst []byte, all *contract.Blocks) []byte {
	dst = append(dst, '[')
	for i := range all.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst, _ = appendFields(append(dst, '{'), all.At(i), true)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendValue(dst []byte, f *contract.Field) []byte {
	switch {
	case f.Flag != nil:
		return strconv.AppendBool(dst, *f.Flag)
	case f.Number != nil:
		return rawjson.AppendInt(dst, int64(*f.Number))
	case f.Fraction != nil:
		return strconv.AppendFloat(dst, *f.Fraction, 'g', -1, 64)
	case f.Text != nil:
		return rawjson.AppendString(dst, *f.Text)
	case f.Object != nil:
		return append(dst, *f.Object...)
	}
	dst = append(dst, '[')
	for i, name := range *f.List {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, name)
	}
	return append(dst, ']')
}
