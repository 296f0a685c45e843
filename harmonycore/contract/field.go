package contract

import "slices"

// Field is one setting of a block, bound to the variable that holds its value. One pointer, or Block, is set, and
// decides the setting's kind.
//
// A block's settings are listed once, in its method Fields. All code that reads, writes, checks or describes a
// configuration uses that list.
type Field struct {
	// Key is the setting's name in the operator's file and in the filter's JSON.
	Key string

	Flag *bool
	// Number is a whole number from Min to Max.
	Number   *int
	Min, Max int
	// Fraction is from 0 to 1.
	Fraction *float64
	// Text is one of Words, and List has some of Words. Without Words they are any texts that Valid accepts.
	Text  *string
	List  *[]string
	Words []string
	Valid func(text string) bool
	// Object is a JSON object, or empty.
	Object *Object
	Block  []Field
	// Blocks is a list of blocks.
	Blocks *Blocks

	// Must is the filter's error text for a text that Valid refuses.
	Must string
	// Advice is the operator's error text for a refused value. If it is empty, the text is made from the range.
	Advice string
	// Required reports whether a text must not be empty.
	Required bool
	// Optional reports whether the block may be absent. It is then zero, and its required text is empty.
	Optional bool

	number   int
	fraction float64
	text     string
	list     []string
	flag     bool
}

// Blocks are the entries of a list of blocks.
type Blocks struct {
	// Max is how many there may be.
	Max int
	Len func() int
	// At returns the settings of an entry. Add appends an entry with its defaults, and returns its settings. Clear removes
	// all entries.
	At    func(i int) []Field
	Add   func() []Field
	Clear func()
}

func flag(key string, at *bool, fallback bool) Field {
	return Field{Key: key, Flag: at, flag: fallback}
}

func number(key string, at *int, fallback, minimum, maximum int) Field {
	return Field{Key: key, Number: at, number: fallback, Min: minimum, Max: maximum}
}

func fraction(key string, at *float64, fallback float64) Field {
	return Field{Key: key, Fraction: at, fraction: fallback}
}

func text(key string, at *string, fallback string) Field {
	return Field{Key: key, Text: at, text: fallback}
}

func word(key string, at *string, fallback string, words ...string) Field {
	return Field{Key: key, Text: at, text: fallback, Words: words}
}

func list(key string, at *[]string, fallback, words []string) Field {
	return Field{Key: key, List: at, list: fallback, Words: words}
}

// texts is a list of texts that valid accepts, empty by default. must is the filter's error text for any other.
func texts(key string, at *[]string, valid func(string) bool, must string) Field {
	return Field{Key: key, List: at, Valid: valid, Must: must}
}

func object(key string, at *Object) Field { return Field{Key: key, Object: at} }

func block(key string, fields []Field) Field { return Field{Key: key, Block: fields} }

func (f Field) advise(advice string) Field {
	f.Advice = advice
	return f
}

// valid restricts a text. must is the filter's error text for any other.
func valid(f Field, accepts func(string) bool, must string) Field {
	f.Valid, f.Must = accepts, must
	return f
}

func (f Field) required() Field {
	f.Required = true
	return f
}

// SetDefaults sets every setting to its default. It leaves optional blocks unchanged.
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
	case f.Object != nil:
		*f.Object = ""
	case f.Blocks != nil:
		f.Blocks.Clear()
	}
}

// IsDefault reports whether the setting has its default. For a block it is always false: callers ask the block's
// settings.
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
	case f.Object != nil:
		return *f.Object == ""
	case f.Blocks != nil:
		return f.Blocks.Len() == 0
	}
	return false
}

// IsAbsent reports whether the setting is an absent optional block, or an empty required text.
func (f *Field) IsAbsent() bool {
	if f.Optional {
		return slices.ContainsFunc(f.Block, func(inner Field) bool { return inner.IsAbsent() })
	}
	return f.Required && f.Text != nil && *f.Text == ""
}

// Allowed reports whether the value is in its range. A list is in range if each of its elements is. For a block it
// is always true: callers ask the block's settings.
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
		return !slices.ContainsFunc(*f.List, func(s string) bool { return !f.AllowsElement(s) })
	}
	return true
}

// AllowsElement reports whether a list may have this element.
func (f *Field) AllowsElement(s string) bool {
	if f.Words != nil {
		return slices.Contains(f.Words, s)
	}
	return f.Valid == nil || f.Valid(s)
}

// FillZeros sets a setting to its default if it is zero and zero is out of its range. So an operator may write "" or 0
// for such defaults.
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
