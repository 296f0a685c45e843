package rawjson

// Part is a value in a text that [Validate] has accepted, kept to be read later. The zero value is an absent one.
type Part struct {
	Kind Kind
	// Value is the value as [Items.Value] has it: a string without its quotes, and any other value as it stands.
	Value []byte

	// ends has where long values end. base is where an object or an array begins in the text that ends is of.
	ends *Ends
	base int
}

// Part returns the object or array part of the text, which begins at base.
func (e *Ends) Part(part []byte, base int) Part {
	p := Part{Value: part, ends: e, base: base}
	if len(part) > 0 {
		p.Kind = kindOf(part[0])
	}
	return p
}

// Part returns the item's value.
func (it *Items) Part() Part {
	return Part{Kind: it.Kind, Value: it.Value, ends: it.ends, base: it.base + it.End - len(it.Value)}
}

// Items returns the members of an object, or the elements of an array. Other values have none.
func (p *Part) Items() Items {
	switch p.Kind {
	case Object:
		return items(p.Value, '{', p.ends, p.base)
	case Array:
		return items(p.Value, '[', p.ends, p.base)
	default:
		return Items{}
	}
}

// Place returns where an object or an array is in the text.
func (p *Part) Place() (from, to int) { return p.base, p.base + len(p.Value) }

// Given reports whether there is a value other than null.
func (p *Part) Given() bool { return p.Kind > Null }
