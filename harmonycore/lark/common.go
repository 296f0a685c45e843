package lark

// common returns the regular expression of a terminal of Lark's module common. Where Lark's own has lookbehind or a lazy
// repetition, this one allows the same texts without.
func common(name string) (string, bool) {
	for i := range commonTerminals {
		if commonTerminals[i][0] == name {
			return commonTerminals[i][1], true
		}
	}
	return "", false
}

const (
	integer = `[0-9]+`
	decimal = `([0-9]+\.[0-9]*|\.[0-9]+)`
	power   = `[eE][-+]?[0-9]+`
	float   = `(` + integer + power + `|` + decimal + `(` + power + `)?)`
	number  = `(` + float + `|` + integer + `)`
	line    = `[^\n]*`
)

var commonTerminals = [...][2]string{
	{"DIGIT", `[0-9]`},
	{"HEXDIGIT", `[0-9A-Fa-f]`},
	{"INT", integer},
	{"SIGNED_INT", `[-+]?` + integer},
	{"DECIMAL", decimal},
	{"FLOAT", float},
	{"SIGNED_FLOAT", `[-+]?` + float},
	{"NUMBER", number},
	{"SIGNED_NUMBER", `[-+]?` + number},
	{"ESCAPED_STRING", `"([^"\\\n]|\\[^\n])*"`},
	{"LCASE_LETTER", `[a-z]`},
	{"UCASE_LETTER", `[A-Z]`},
	{"LETTER", `[A-Za-z]`},
	{"WORD", `[A-Za-z]+`},
	{"CNAME", `[A-Z_a-z][0-9A-Z_a-z]*`},
	{"WS_INLINE", `[ \t]+`},
	{"WS", `[ \t\f\r\n]+`},
	{"CR", `\r`},
	{"LF", `\n`},
	{"NEWLINE", `(\r?\n)+`},
	{"SH_COMMENT", `#` + line},
	{"CPP_COMMENT", `\/\/` + line},
	{"SQL_COMMENT", `--` + line},
	{"C_COMMENT", `\/\*[^*]*\*+([^\/*][^*]*\*+)*\/`},
}
