package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// ldif writes entries. Errors stay in the writer until it is flushed.
type ldif struct {
	w       *bufio.Writer
	now     time.Time
	entries int
}

// attrs is a list of names and values in turn. A value is text, a number, a
// list of texts, or nil, which leaves the attribute out.
type attrs []any

// entry writes one entry with its object classes.
func (l *ldif) entry(dn string, classes string, lists ...attrs) {
	l.line("dn", dn)
	for class := range strings.FieldsSeq(classes) {
		l.line("objectClass", class)
	}
	for _, list := range lists {
		for i := 0; i < len(list); i += 2 {
			l.values(list[i].(string), list[i+1])
		}
	}
	l.w.WriteByte('\n')
	l.entries++
}

func (l *ldif) values(name string, value any) {
	switch v := value.(type) {
	case nil:
	case []string:
		for _, s := range v {
			l.line(name, s)
		}
	case *int64:
		if v != nil {
			l.line(name, fmt.Sprint(*v))
		}
	case string:
		if v != "" {
			l.line(name, v)
		}
	default:
		l.line(name, fmt.Sprint(v))
	}
}

// line writes one value, in base64 where LDIF wants it (RFC 2849).
func (l *ldif) line(name, value string) {
	if safe(value) {
		fmt.Fprintf(l.w, "%s: %s\n", name, value)
		return
	}
	fmt.Fprintf(l.w, "%s:: %s\n", name, base64.StdEncoding.EncodeToString([]byte(value)))
}

func safe(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || i == 0 && (s[i] == ' ' || s[i] == ':' || s[i] == '<') || i == len(s)-1 && s[i] == ' ' {
			return false
		}
	}
	return true
}

// escape makes a value fit for a DN (RFC 4514).
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `,`, `\,`, `+`, `\+`, `"`, `\"`, `;`, `\;`, `<`, `\<`, `>`, `\>`, `=`, `\=`).Replace(s)
}

// entity are the attributes of every GLUE 2.0 record.
func (l *ldif) entity(name string, made time.Time) attrs {
	return attrs{"GLUE2EntityName", name, "GLUE2EntityCreationTime", made.Format(time.RFC3339), "GLUE2EntityValidity", 3600}
}
