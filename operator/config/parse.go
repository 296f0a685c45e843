package config

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

const maxFile = 1 << 20

// Load reads a configuration file. It checks the settings in the file, but not that the file is complete: call
// [Config.Validate] after flags have been added.
func Load(file string) (*Config, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	c, err := Parse(file, data)
	if err != nil {
		return nil, err
	}
	c.resolvePaths(filepath.Dir(file))
	return c, nil
}

// resolvePaths makes relative file names absolute, from the folder of the configuration. These files are read again
// later, or by Envoy, in whichever folder those programs run.
func (c *Config) resolvePaths(folder string) {
	if absolute, err := filepath.Abs(folder); err == nil {
		folder = absolute
	}
	resolve := func(name *string) {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(folder, *name)
		}
	}
	walk("", c.Fields(), func(_ string, f *Field) {
		if name, ok := f.At.(*string); ok && f.Form == FormFile {
			resolve(name)
		}
	})
	c.ResponsesService.Tools.resolvePaths(resolve)
}

func readFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, &Error{File: file, Reason: "cannot be read: " + reason(err)}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, &Error{File: file, Reason: "cannot be read: " + reason(err)}
	}
	if len(data) > maxFile {
		return nil, &Error{File: file, Reason: "is larger than 1 MiB, which is the limit"}
	}
	return data, nil
}

func reason(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// Parse is [Load] for data that has been read already. name stands for the file in errors.
func Parse(name string, data []byte) (*Config, error) {
	tree, err := parseYAML(data)
	if err != nil {
		return nil, syntaxError(name, data, err)
	}
	if len(tree.Docs) > 1 {
		return nil, &Error{File: name, Reason: "holds more than one document; remove the --- lines"}
	}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return Default(), nil // the decoder would empty it
	}
	c, unread, problems := decode(name, data, tree)
	if c != nil {
		c.resolveTemplates(filepath.Dir(name))
		_, more := c.check()
		problems.follow(more, unread)
	}
	if err := problems.err(); err != nil {
		return nil, locate(err, name, tree)
	}
	return c, nil
}

// syntaxError returns an error of the YAML library about the structure of a text.
func syntaxError(name string, data []byte, err error) *Error {
	e := &Error{File: name, Reason: err.Error()}
	var y yaml.Error
	if errors.As(err, &y) {
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
		misplaced := ""
		if strings.HasPrefix(y.GetMessage(), "mapping ") { // a value where none may be, or a key twice
			misplaced = e.indentReason(data)
		}
		if misplaced != "" {
			e.Reason = misplaced
		} else if twice := duplicateKey.FindStringSubmatch(y.GetMessage()); twice != nil {
			e.Reason = plainReason(y.GetMessage())
		} else {
			e.Reason = SyntaxReason(y.GetMessage(), lineOf(data, e.Line))
		}
	}
	return e
}

// configError returns an error of the YAML library, which draws the place as a picture, as one line that names the
// setting.
func configError(name string, tree *ast.File, err error) *Error {
	var already *Error
	if errors.As(err, &already) {
		already.File = name
		return already
	}
	e := &Error{File: name, Reason: err.Error()}
	var y yaml.Error
	if errors.As(err, &y) {
		e.Reason = y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column, e.Reason = t.Position.Line, t.Position.Column, plainReason(e.Reason)
			e.Field = fieldPath(tree, t)
		}
	}
	var mismatch *yaml.TypeError
	if errors.As(err, &mismatch) {
		e.Reason = "found " + kindOf(mismatch.SrcType) + " where " + kindOf(mismatch.DstType) + " is expected"
		if mismatch.DstType.Kind() == reflect.String {
			e.Reason += "; put quotation marks around it"
		}
	}
	if y != nil {
		e.quote(y.GetToken())
		if t := y.GetToken(); t != nil && t.Type == token.MappingValueType && t.Prev != nil &&
			entryWithoutSpace.MatchString(t.Prev.Value+":") { // the name before the colon
			e.Column, e.Reason = t.Prev.Position.Column, dashReason(strconv.Quote(t.Prev.Value))
		}
	}
	if strings.HasPrefix(e.Reason, "could not find alias") || strings.HasPrefix(e.Reason, "cannot find anchor by alias") {
		e.Reason = SyntaxReason(e.Reason, "")
	}
	if unknown := unknownField.FindStringSubmatch(e.Reason); unknown != nil {
		if e.Field == "" {
			e.Field = unknown[1]
		}
		e.Reason = suggestion(e.Field)
	}
	return e
}

// quote puts what was found into the text of an error about the form of a value.
func (e *Error) quote(t *token.Token) {
	for _, kind := range []string{"text", "a number", "true or false"} {
		rest, ok := strings.CutPrefix(e.Reason, "found "+kind+" where ")
		if !ok || t == nil || t.Value == "" {
			continue
		}
		e.Reason = "found " + excerpt(t.Value) + " where " + rest
		if strings.Contains(rest, "a block of settings") && strings.Contains(t.Value, ":") {
			e.Reason += "; a space belongs after the colon of a setting"
		}
		return
	}
}

// plainReason returns an error text of the YAML library about the text's structure in the words of the other errors.
func plainReason(reason string) string {
	if found := kindMismatch.FindStringSubmatch(reason); found != nil && yamlKinds[found[1]] != "" &&
		yamlKinds[found[2]] != "" {
		return "found " + yamlKinds[found[1]] + " where " + yamlKinds[found[2]] + " is expected"
	}
	if twice := duplicateKey.FindStringSubmatch(reason); twice != nil {
		return twice[1] + " is listed twice, first on line " + twice[2]
	}
	return reason
}

var (
	kindMismatch = regexp.MustCompile(`^(\w+) was used where (\w+) is expected$`)
	duplicateKey = regexp.MustCompile(`^mapping key "(.*)" already defined at \[(\d+):\d+\]$`)
	yamlKinds    = map[string]string{
		"mapping": "a block of settings", "value": "a block of settings", "sequence": "a list", "string": "text",
		"int": "a number", "float": "a number",
		"boolean": "true or false", "null": "nothing",
	}
)

var unknownField = regexp.MustCompile(`^unknown field "(.*)"$`)

// kindOf returns the name of a type for a person who writes YAML.
func kindOf(t reflect.Type) string {
	if t == nil { // an anchor without a value
		return "nothing"
	}
	switch t.Kind() {
	case reflect.Map, reflect.Struct:
		return "a block of settings"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	default:
		return "a number"
	}
}

// placeOf returns the line and the column of a field such as models[0].name, or of the nearest enclosing setting in the
// file.
func placeOf(tree *ast.File, field string) (line, column int) {
	for field != "" {
		if path, err := yaml.PathString("$." + field); err == nil {
			if node, err := path.FilterFile(tree); err == nil && node != nil {
				if t := node.GetToken(); t != nil && t.Position != nil {
					return t.Position.Line, t.Position.Column
				}
			}
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			break
		}
		field = field[:cut]
	}
	return 0, 0
}
