package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Size is a number of bytes, written as 65536, 512KiB or 16MB. It can also be the value of a flag.
type Size int64

var sizeUnits = []struct {
	suffix string
	factor int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1},
	{"", 1}}

// Set implements pflag.Value.
func (s *Size) Set(text string) error {
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.factor {
			break
		}
		*s = Size(n * u.factor)
		return nil
	}
	return errors.New(strconv.Quote(text) + " is not a size; write bytes or a unit, such as 65536, 512KiB, 16MiB or 16MB")
}

// String implements pflag.Value.
func (s *Size) String() string {
	n, suffix := int64(*s), ""
	for _, u := range sizeUnits {
		if u.factor > 1 && int64(*s)%u.factor == 0 && int64(*s)/u.factor < n {
			n, suffix = int64(*s)/u.factor, u.suffix
		}
	}
	return strconv.FormatInt(n, 10) + suffix
}

// Type implements pflag.Value.
func (s *Size) Type() string { return "size" }

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (s *Size) UnmarshalYAML(node ast.Node) error { return setNode(node, s.Set) }

// Duration is a [time.Duration], written as 300s or 5m. It can also be the value of a flag.
type Duration time.Duration

// Set implements pflag.Value.
func (d *Duration) Set(text string) error {
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return errors.New(strconv.Quote(text) + " is not a duration; write a number and a unit, such as 300s or 5m")
	}
	*d = Duration(v)
	return nil
}

// String implements pflag.Value.
func (d *Duration) String() string { return time.Duration(*d).String() }

// Type implements pflag.Value.
func (d *Duration) Type() string { return "duration" }

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (d *Duration) UnmarshalYAML(node ast.Node) error { return setNode(node, d.Set) }

// setNode calls set with the text of a scalar. It adds the scalar's place to an error, which the YAML library would
// lose.
func setNode(node ast.Node, set func(string) error) error {
	token := node.GetToken()
	err := errors.New("a single value is expected here")
	if _, ok := node.(ast.ScalarNode); ok {
		err = set(token.Value)
	}
	if err == nil {
		return nil
	}
	return &Error{Line: token.Position.Line, Column: token.Position.Column, Field: strings.TrimPrefix(node.GetPath(), "$."), Reason: err.Error()}
}
