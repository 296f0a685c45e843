package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// typeLocalShell is a tool of the Responses API that the client runs. The model sees a function of this name. Its
// parameters are the members of an action except the type.
const typeLocalShell = "local_shell"

const localShellSchema = `{"type":"object","properties":{` +
	`"command":{"type":"array","items":{"type":"string"},"description":"The program and its arguments."},` +
	`"timeout_ms":{"type":"integer","description":"After how many milliseconds it is given up."},` +
	`"working_directory":{"type":"string","description":"Where it runs."},` +
	`"env":{"type":"object","additionalProperties":{"type":"string"}},` +
	`"user":{"type":"string","description":"Whom it runs as."}},` +
	`"required":["command"],"additionalProperties":false}`

// readLocalShell reads the tool. The tool is strict, because some agents cannot answer a call that is not a valid
// action.
func (r *toolReader) readLocalShell(at string) *Error {
	r.localShell = true
	tool := Tool{
		Name: typeLocalShell, LocalShell: true, Strict: true,
		Parameters: []byte(localShellSchema),
		Description: `Runs a command on the user's machine and returns its output. For a shell's syntax the command is a ` +
			`shell: ["bash", "-lc", "ls | wc -l"].`,
	}
	return r.add(join(at, "type"), &tool)
}

// localShellFields holds the members of an action.
type localShellFields struct{ command, timeout, directory, env, user value }

// emptyAction is the action of an item that has just begun.
const emptyAction = `{"type":"exec","command":[],"env":{},"timeout_ms":null,"user":null,"working_directory":null}`

// LocalShellAction appends the action of a call's arguments, with every member written out. ok is false for arguments
// that an action cannot hold completely: invalid or truncated JSON, other members, other types (RATIONALE.md#53).
func LocalShellAction(dst, arguments []byte) (action []byte, ok bool) {
	var f localShellFields
	root, _, err := object(arguments, MaxValues)
	if err == nil {
		err = root.members("", f.set)
	}
	if err == nil && !f.command.given() {
		err = missing("command")
	}
	commands := 0
	if err == nil {
		err = f.command.elements("command", func(_ int, at string, v value) *Error {
			commands++
			return v.requireText(at)
		})
	}
	if err == nil && f.env.given() {
		err = f.env.members("env", func(_ []byte, v value) *Error { return v.requireText("env") })
	}
	if err != nil || commands == 0 {
		return dst, false
	}
	env := "{}"
	if f.env.given() {
		env = f.env.compact()
	}
	dst = append(append(dst, `{"type":"exec","command":`...), f.command.compact()...)
	dst = append(append(dst, `,"env":`...), env...)
	dst = append(append(dst, `,"timeout_ms":`...), f.timeout.compactOrNull()...)
	dst = append(append(dst, `,"user":`...), f.user.compactOrNull()...)
	dst = append(append(dst, `,"working_directory":`...), f.directory.compactOrNull()...)
	return append(dst, '}'), true
}

func (f *localShellFields) set(key []byte, v value) *Error {
	var dst *value
	var err *Error
	switch rawjson.View(key) {
	case "type":
		return v.oneOf("type", "exec")
	case "command":
		dst = &f.command
	case "timeout_ms":
		dst, err = &f.timeout, v.integer("timeout_ms", 0, new(int64))
	case "env":
		dst = &f.env
	case "user":
		dst, err = &f.user, v.text("user", new(string))
	case "working_directory":
		dst, err = &f.directory, v.text("working_directory", new(string))
	default:
		return Invalid(string(key), "Unknown member.")
	}
	if dst.given() {
		return Invalid(string(key), "Given twice.")
	}
	*dst = v
	return err
}

// shellArguments returns the arguments from which an action was made. It leaves out the type and the members that only
// [LocalShellAction] added. The model then sees in its history what it wrote.
func (v value) shellArguments(at string) (string, *Error) {
	if v.kind != rawjson.Object {
		return v.textOrJSON(at)
	}
	out := []byte{'{'}
	err := v.members(at, func(key []byte, v value) *Error {
		if name := string(key); name == "type" || !v.given() || name == "env" && v.compact() == "{}" {
			return nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(rawjson.AppendString(out, string(key)), ':')
		out = append(out, v.compact()...)
		return nil
	})
	return rawjson.Keep(append(out, '}')), err
}

func (v value) requireText(param string) *Error {
	if v.kind != rawjson.String {
		return wrongType(param, "a string", v)
	}
	return nil
}
