package contract

import "slices"

// Field is one setting of a block, bound to the place of its value. One pointer, or Block, is set: it is the setting's
// kind.
//
// A block's settings stand once, in its method Fields. What reads, writes or checks a configuration, or describes it,
// walks them.
type Field struct {
	// Key is the setting's name, in the operator's file and in the filter's JSON.
	Key string

	Flag *bool
	// Number is a whole number from Min to Max.
	Number   *int
	Min, Max int
	// Fraction is from 0 to 1.
	Fraction *float64
	// Text is one of Words, or any text that Valid accepts where there are none; List has some of Words.
	Text  *string
	List  *[]string
	Words []string
	Valid func(text string) bool
	Block []Field

	// Must is what the filter says of a text that Valid refuses.
	Must string
	// Advice is what an operator reads after a refused value; empty is a sentence made of the range.
	Advice string
	// Required is for a text that may not be empty.
	Required bool
	// Optional is for a block that stays zero where it is absent, which its empty required text shows.
	Optional bool

	number   int
	fraction float64
	text     string
	list     []string
	flag     bool
}

func flag(key string, at *bool, otherwise bool) Field {
	return Field{Key: key, Flag: at, flag: otherwise}
}

func number(key string, at *int, otherwise, least, most int) Field {
	return Field{Key: key, Number: at, number: otherwise, Min: least, Max: most}
}

func fraction(key string, at *float64, otherwise float64) Field {
	return Field{Key: key, Fraction: at, fraction: otherwise}
}

func text(key string, at *string, otherwise string) Field {
	return Field{Key: key, Text: at, text: otherwise}
}

func word(key string, at *string, otherwise string, words ...string) Field {
	return Field{Key: key, Text: at, text: otherwise, Words: words}
}

func list(key string, at *[]string, otherwise, words []string) Field {
	return Field{Key: key, List: at, list: otherwise, Words: words}
}

func block(key string, fields []Field) Field { return Field{Key: key, Block: fields} }

func (f Field) advise(advice string) Field {
	f.Advice = advice
	return f
}

func (f Field) required() Field {
	f.Required = true
	return f
}

// SetDefaults gives every setting its default. Optional blocks stay as they are.
func SetDefaults(fields []Field) {
	for i := range fields {
		if f := &fields[i]; f.Block == nil {
			f.setDefault()
		} else if !f.Optional {
			SetDefaults(f.Block)
		}
	}
}

func (f *Field) setDefault() {
	switch {
	case f.Flag != nil:
		*f.Flag = f.flag
	case f.Number != nil:
		*f.Number = f.number
	case f.Fraction != nil:
		*f.Fraction = f.fraction
	case f.Text != nil:
		*f.Text = f.text
	case f.List != nil:
		*f.List = slices.Clone(f.list)
	}
}

// IsDefault reports whether the setting has its default. A block never has: its settings are asked one by one.
func (f *Field) IsDefault() bool {
	switch {
	case f.Flag != nil:
		return *f.Flag == f.flag
	case f.Number != nil:
		return *f.Number == f.number
	case f.Fraction != nil:
		return *f.Fraction == f.fraction
	case f.Text != nil:
		return *f.Text == f.text
	case f.List != nil:
		return slices.Equal(*f.List, f.list)
	}
	return false
}

// IsAbsent reports whether the setting is an optional block that is not there, or a required text that is empty.
func (f *Field) IsAbsent() bool {
	if f.Optional {
		return slices.ContainsFunc(f.Block, func(inner Field) bool { return inner.IsAbsent() })
	}
	return f.Required && f.Text != nil && *f.Text == ""
}

// Allowed reports whether the value is in its range. A list is, if each of its words is known. A block always is: its
// settings are asked one by one.
func (f *Field) Allowed() bool {
	switch {
	case f.Number != nil:
		return *f.Number >= f.Min && *f.Number <= f.Max
	case f.Fraction != nil:
		return *f.Fraction >= 0 && *f.Fraction <= 1
	case f.Text != nil && f.Words != nil:
		return slices.Contains(f.Words, *f.Text)
	case f.Text != nil && f.Valid != nil:
		return f.Valid(*f.Text)
	case f.List != nil:
		return !slices.ContainsFunc(*f.List, func(s string) bool { return !slices.Contains(f.Words, s) })
	}
	return true
}

// FillZeros gives a setting its default where it is zero and zero is out of its range. An operator may write "" or 0
// for those defaults.
func FillZeros(fields []Field) {
	for i := range fields {
		f := &fields[i]
		FillZeros(f.Block)
		zero := f.Number != nil && *f.Number == 0 || f.Text != nil && *f.Text == ""
		if zero && !f.Allowed() {
			f.setDefault()
		}
	}
}
