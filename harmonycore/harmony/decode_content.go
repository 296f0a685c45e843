package harmony

import (
	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

func (d *decoder) system(v raw) *SystemContent {
	c := &SystemContent{}
	var identity, cutoff, date, effort, tools, channels bool
	d.object(v, "system_content", func(key string, v raw) {
		switch key {
		case "model_identity":
			d.text(&c.ModelIdentity, &identity, v, key)
		case "knowledge_cutoff":
			d.text(&c.KnowledgeCutoff, &cutoff, v, key)
		case "conversation_start_date":
			d.text(&c.ConversationStartDate, &date, v, key)
		case "reasoning_effort":
			d.once(&effort, key)
			c.Effort = d.effort(v)
		case "tools":
			d.once(&tools, key)
			c.Tools = d.namespaces(v)
		case "channel_config":
			d.once(&channels, key)
			c.Channels = d.channels(v)
		}
	})
	return c
}

func (d *decoder) effort(v raw) Effort {
	if v.null() {
		return 0
	}
	word := d.str(v, "reasoning_effort")
	for e := Low; e <= High; e++ {
		if effortNames[e] == word {
			return e
		}
	}
	d.fail("unknown variant in reasoning_effort")
	return 0
}

func (d *decoder) channels(v raw) *ChannelConfig {
	if v.null() {
		return nil
	}
	c := &ChannelConfig{}
	var valid, required bool
	d.object(v, "channel_config", func(key string, v raw) {
		switch key {
		case "valid_channels":
			d.once(&valid, key)
			d.array(v, key, func(v raw) { c.Valid = append(c.Valid, d.str(v, key)) })
		case "channel_required":
			d.once(&required, key)
			if v.kind != jsonparser.Boolean {
				d.fail("invalid type: expected a boolean in " + key)
			}
			c.Required = string(v.text) == "true"
		}
	})
	d.need(valid, "valid_channels")
	d.need(required, "channel_required")
	return c
}

func (d *decoder) developer(v raw) *DeveloperContent {
	c := &DeveloperContent{}
	var instructions, tools bool
	d.object(v, "developer_content", func(key string, v raw) {
		switch key {
		case "instructions":
			d.text(&c.Instructions, &instructions, v, key)
		case "tools":
			d.once(&tools, key)
			c.Tools = d.namespaces(v)
		}
	})
	return c
}

// namespaces reads a map of tools. If a key comes twice, the last value counts.
func (d *decoder) namespaces(v raw) []Namespace {
	if v.null() {
		return nil
	}
	var list []Namespace
	d.object(v, "tools", func(key string, v raw) {
		n := d.namespace(v)
		n.Key = key
		for i := range list {
			if list[i].Key == key {
				list[i] = n
				return
			}
		}
		list = append(list, n)
	})
	return list
}

func (d *decoder) namespace(v raw) Namespace {
	var n Namespace
	var name, description, tools bool
	d.object(v, "namespace", func(key string, v raw) {
		switch key {
		case "name":
			d.once(&name, key)
			n.Name = d.str(v, key)
		case "description":
			d.text(&n.Description, &description, v, key)
		case "tools":
			d.once(&tools, key)
			d.array(v, key, func(v raw) { n.Tools = append(n.Tools, d.tool(v)) })
		}
	})
	d.need(name, "name")
	d.need(tools, "tools")
	return n
}

func (d *decoder) tool(v raw) ToolDescription {
	var t ToolDescription
	var name, description, parameters bool
	d.object(v, "tool", func(key string, v raw) {
		switch key {
		case "name":
			d.once(&name, key)
			t.Name = d.str(v, key)
		case "description":
			d.once(&description, key)
			t.Description = d.str(v, key)
		case "parameters":
			d.once(&parameters, key)
			t.Parameters = d.schema(v)
		}
	})
	d.need(name, "name")
	d.need(description, "description")
	return t
}

func (d *decoder) schema(v raw) *Schema {
	if v.kind == jsonparser.String {
		return &Schema{value: rawjson.Value{Kind: rawjson.String, Text: rawjson.Unescape(v.text)}}
	}
	schema, err := ParseSchema(v.text)
	if err != nil {
		d.fail(err.Error())
	}
	return schema
}
