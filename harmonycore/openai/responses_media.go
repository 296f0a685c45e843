package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// Media is a content part that is no text: an image, sound, a video or a file. It is kept for servers that read such
// parts, in the form that Chat has for them.
type Media struct {
	// Part is the part's index in the item's content, where an empty text stands for it.
	Part int
	// kind is the type that the part has in Chat. members are the members of the object of that name. Their values lie in
	// the body.
	kind    string
	members []mediaMember
}

// mediaMember is a member whose value is a string. before stands in front of the string.
type mediaMember struct {
	name   string
	v      value
	before string
}

// AppendJSON appends the part in Chat's form.
func (m *Media) AppendJSON(dst []byte) []byte {
	dst = append(append(append(dst, `{"type":"`...), m.kind...), `","`...)
	dst = append(append(dst, m.kind...), `":{`...)
	for i := range m.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), m.members[i].name...), `":"`...)
		dst = append(append(append(dst, m.members[i].before...), m.members[i].v.raw...), '"')
	}
	return append(dst, "}}"...)
}

// Size returns about how long the part is, in bytes of JSON.
func (m *Media) Size() int {
	size := 64
	for i := range m.members {
		size += len(m.members[i].before) + len(m.members[i].v.raw) + 32
	}
	return size
}

// The types of parts that Chat has, apart from text.
const (
	mediaImage = "image_url"
	mediaVideo = "video_url"
	mediaSound = "audio_url"
	mediaAudio = "input_audio"
	mediaFile  = "file"
)

// mediaKind returns the type in Chat of a part of either API. It is empty for other parts. Chat's own forms are
// accepted, as many clients send them here, and NeMo Gym's input_video.
func mediaKind(kind string) string {
	switch kind {
	case "input_image":
		return mediaImage
	case "input_video":
		return mediaVideo
	case "input_file":
		return mediaFile
	case mediaImage, mediaVideo, mediaSound, mediaAudio, mediaFile:
		return kind
	}
	return ""
}

// readMixed reads a content that may have media into item.
func (v value) readMixed(param string, item *InputItem) *Error {
	if v.kind != rawjson.Array {
		var err *Error
		item.Content, err = v.readParts(param, itemParts, nil)
		return err
	}
	return v.elements(param, func(i int, at string, v value) *Error {
		if i >= MaxEntries {
			return tooManyTurns(param)
		}
		kind, err := v.typeOf(at)
		if err != nil {
			return err
		}
		text := ""
		if chat := mediaKind(kind); chat != "" {
			m := Media{Part: i, kind: chat}
			err = m.read(at, v)
			item.Media = append(item.Media, m)
		} else {
			text, err = v.readPart(at, itemParts, nil)
		}
		item.Content = append(item.Content, text)
		return err
	})
}

func (m *Media) read(at string, v value) *Error {
	switch m.kind {
	case mediaFile:
		return m.readFile(at, v)
	case mediaAudio:
		return m.readAudio(at, v)
	default:
		return m.readURL(at, v)
	}
}

// readURL reads an image, a video or sound at a URL, which may be one that holds the data itself. The URL is a string,
// or in an object as in Chat.
func (m *Media) readURL(at string, v value) *Error {
	var source, detail, fileID value
	err := v.members(at, func(key []byte, v value) *Error {
		switch name := rawjson.View(key); {
		case name == m.kind, name == "video" && m.kind == mediaVideo && !source.given():
			source = v
		case name == "detail":
			detail = v
		case name == "file_id":
			fileID = v
		case name == "prompt_cache_breakpoint":
			return v.readBreakpoint(join(at, name))
		}
		return nil
	})
	param := join(at, m.kind)
	switch {
	case err != nil:
		return err
	case !source.given() && fileID.given():
		return Unsupported(join(at, "file_id"), "Unsupported parameter: no files are stored at this model's servers. Send '"+
			param+"', which may be a data URL.")
	case !source.given():
		return missing(param)
	case source.kind == rawjson.Object:
		object := source
		source = value{}
		if err := object.members(param, func(key []byte, v value) *Error {
			switch rawjson.View(key) {
			case "url":
				source = v
			case "detail":
				detail = v
			}
			return nil
		}); err != nil {
			return err
		}
		if param = join(param, "url"); !source.given() {
			return missing(param)
		}
	}
	if err := source.requireText(param); err != nil {
		return err
	}
	if len(source.raw) == 0 {
		return Invalid(param, "Invalid '"+param+"': empty string. Expected a URL.")
	}
	m.members = append(m.members, mediaMember{name: "url", v: source})
	if m.kind != mediaImage {
		return nil
	}
	if detail.kind == rawjson.String && rawjson.View(detail.raw) == "original" {
		detail.raw = []byte("high") // the most that Chat has a word for
	}
	return m.add(at, "detail", detail)
}

// readAudio reads sound.
func (m *Media) readAudio(at string, v value) *Error {
	var object value
	if err := v.members(at, func(key []byte, v value) *Error {
		if rawjson.View(key) == mediaAudio {
			object = v
		}
		return nil
	}); err != nil {
		return err
	}
	at = join(at, mediaAudio)
	if !object.given() {
		return missing(at)
	}
	var data, format value
	if err := object.members(at, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "data":
			data = v
		case "format":
			format = v
		}
		return nil
	}); err != nil {
		return err
	}
	switch {
	case !data.given():
		return missing(join(at, "data"))
	case !format.given():
		return missing(join(at, "format"))
	}
	if err := m.add(at, "data", data); err != nil {
		return err
	}
	return m.add(at, "format", format)
}

// readFile reads a file. In Chat its members are in an object of their own.
func (m *Media) readFile(at string, v value) *Error {
	var data, name, id, url, object value
	read := func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "file_data":
			data = v
		case "filename":
			name = v
		case "file_id":
			id = v
		case "file_url":
			url = v
		case mediaFile:
			object = v
		}
		return nil
	}
	err := v.members(at, read)
	if err == nil && object.given() {
		at = join(at, mediaFile)
		err = object.members(at, read)
	}
	switch {
	case err != nil:
		return err
	case !data.given() && !id.given() && url.given():
		return Unsupported(join(at, "file_url"), "Unsupported parameter: this model's servers take no URLs of files. Send '"+
			join(at, "file_data")+"'.")
	case !data.given() && !id.given():
		return missing(join(at, "file_data"))
	}
	for _, member := range [...]mediaMember{{name: "file_data", v: data}, {name: "filename", v: name}, {name: "file_id", v: id}} {
		if err := m.add(at, member.name, member.v); err != nil {
			return err
		}
	}
	return nil
}

// add adds a member whose value is a string, if it is given.
func (m *Media) add(at, name string, v value) *Error {
	if !v.given() {
		return nil
	}
	m.members = append(m.members, mediaMember{name: name, v: v})
	return v.requireText(join(at, name))
}
