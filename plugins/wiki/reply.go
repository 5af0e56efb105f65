package wiki

import (
	"fmt"
	"strconv"
	"strings"
)

// Reply is an answer: a status and a text, or records.
type Reply struct {
	Code    int
	Text    string // RESPONSE or RSP
	Records []Record
	Query   bool // the answer to GETNODES or GETJOBS
	Plain   bool // the text follows ARG=, as the answer to JOBWILLRUN
}

// Record is one node or job: a name and fields in their order.
type Record struct {
	ID     string
	Fields []Field
}

// Field is an attribute.
type Field struct{ Name, Value string }

// Get returns a field's value, "" where there is none.
func (r *Record) Get(name string) string {
	for i := range r.Fields {
		if r.Fields[i].Name == name {
			return r.Fields[i].Value
		}
	}
	return ""
}

// String writes the data part. Every field, the last one too, ends with a
// semicolon: Maui crashes where it does not.
func (r *Reply) String() string {
	if r.Plain {
		return fmt.Sprintf("SC=%d ARG=%s", r.Code, oneLine(r.Text))
	}
	if !r.Query {
		return fmt.Sprintf("SC=%d RESPONSE=%s", r.Code, oneLine(r.Text))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "SC=%d ARG=%d#", r.Code, len(r.Records))
	for i := range r.Records {
		if i > 0 {
			b.WriteByte('#')
		}
		r.Records[i].write(&b)
	}
	return b.String()
}

func (r *Record) write(b *strings.Builder) {
	b.WriteString(escaped(r.ID))
	b.WriteByte(':')
	for i := range r.Fields {
		f := &r.Fields[i]
		b.WriteString(f.Name)
		b.WriteByte('=')
		if listed(f.Name) {
			b.WriteString(strings.ReplaceAll(oneLine(f.Value), `\`, `\\`))
		} else {
			b.WriteString(escaped(f.Value))
		}
		b.WriteByte(';')
	}
}

// listed tells whether colons part the value of a field, which are then not
// escaped.
func listed(name string) bool {
	switch name {
	case "TASKLIST", "HOSTLIST", "FEATURE", "FEATURES", "RFEATURES", "PARTITIONMASK", "CCLASS", "ACLASS", "RCLASS", "CNET", "ANET", "CRES", "ARES", "GRES", "WCLIMIT":
		return true
	}
	return false
}

// escaped puts a backslash before the characters that part records and fields.
func escaped(text string) string {
	if strings.ContainsAny(text, "#;:\\\n\r\x00") {
		text = strings.NewReplacer("\\", `\\`, "#", `\#`, ";", `\;`, ":", `\:`, "\n", " ", "\r", " ", "\x00", " ").Replace(text)
	}
	return text
}

// oneLine takes out what would end a message or a field.
func oneLine(text string) string {
	if strings.ContainsAny(text, "#;\n\r\x00") {
		text = strings.NewReplacer("#", " ", ";", " ", "\n", " ", "\r", " ", "\x00", " ").Replace(text)
	}
	return text
}

// ParseReply reads the data part of an answer. Only SC= counts for success;
// the text is RESPONSE= or RSP=; records are parted by # (dialect 1.1) or by
// newlines (1.2).
func ParseReply(data string) (*Reply, error) {
	at := strings.Index(data, "SC=")
	if at < 0 {
		return nil, &FormatError{CodeFormat, "an answer without SC="}
	}
	rest := data[at+len("SC="):]
	end := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '-' && r != '+' })
	number := rest
	if end >= 0 {
		number, rest = rest[:end], rest[end:]
	} else {
		rest = ""
	}
	code, err := statusCode(number)
	if err != nil {
		return nil, err
	}
	r := &Reply{Code: code}
	rest = strings.TrimLeft(rest, " ;\t\n")
	for _, name := range []string{"RESPONSE=", "RSP=", "ARG="} {
		value, ok := strings.CutPrefix(rest, name)
		if !ok {
			continue
		}
		if name != "ARG=" {
			r.Text = strings.Trim(value, `"`)
			break
		}
		r.Query = true
		r.Records, err = parseRecords(value)
	}
	return r, err
}

// statusCode reads a number; of Slurm's -910-n the first part.
func statusCode(text string) (int, error) {
	if i := strings.LastIndexByte(text, '-'); i > 0 {
		text = text[:i]
	}
	code, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, &FormatError{CodeFormat, fmt.Sprintf("status %.20q", text)}
	}
	return int(code), nil
}

// maxRecords bounds the records of an answer.
const maxRecords = 1 << 20

// parseRecords reads <count>#<id>:<f>=<v>;...#... A count that is too small
// cuts the list, as it does for Maui; one that is too large does no harm.
func parseRecords(text string) ([]Record, error) {
	head, rest, sharp := strings.Cut(text, "#")
	lines := !sharp
	if lines {
		head, rest, _ = strings.Cut(text, "\n")
	}
	count, err := strconv.ParseUint(strings.TrimSpace(head), 10, 31)
	if err != nil || count > maxRecords {
		return nil, &FormatError{CodeFormat, fmt.Sprintf("count of records %.20q", head)}
	}
	list := make([]Record, 0, min(int(count), len(rest)/4+1))
	separator := byte('#')
	if lines {
		separator = '\n'
	}
	for rest != "" && len(list) < int(count) {
		var one string
		one, rest = cutEscaped(rest, separator)
		if one == "" {
			continue
		}
		r, err := parseRecord(one, lines)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// parseRecord reads one record.
func parseRecord(text string, line bool) (r Record, err error) {
	separator := byte(':')
	if line {
		separator = ' '
	}
	id, rest := cutEscaped(text, separator)
	r.ID = unescaped(id)
	if r.ID == "" {
		return r, &FormatError{CodeFormat, "a record without a name"}
	}
	r.Fields = make([]Field, 0, strings.Count(rest, ";")+1)
	for rest != "" {
		var one string
		one, rest = cutEscaped(rest, ';')
		name, value, ok := strings.Cut(one, "=")
		if !ok {
			continue
		}
		r.Fields = append(r.Fields, Field{strings.TrimSpace(name), strings.Trim(unescaped(value), `"`)})
	}
	return r, nil
}

// cutEscaped cuts at a separator that has no backslash before it.
func cutEscaped(text string, separator byte) (string, string) {
	i := strings.IndexByte(text, separator)
	if i < 0 {
		return text, ""
	}
	if strings.IndexByte(text[:i], '\\') < 0 {
		return text[:i], text[i+1:]
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case separator:
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// unescaped takes the backslashes away.
func unescaped(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
