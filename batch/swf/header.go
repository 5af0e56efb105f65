package swf

import (
	"strconv"
	"strings"
	"unicode"
)

// Header is the comment block of a trace.
type Header struct {
	Labels []Label // in the order of the file; a label may come several times
}

// Label is one "; Name: value" line. A comment without a name has Name "".
type Label struct{ Name, Value string }

// Get returns the first value of a label ("" where there is none).
func (h Header) Get(name string) string {
	for _, l := range h.Labels {
		if strings.EqualFold(l.Name, name) {
			return l.Value
		}
	}
	return ""
}

// Int returns the number a label's value begins with, as in
// "MaxProcs: 1664 (72, 1368, 224)"; ok is false where there is none.
func (h Header) Int(name string) (n int64, ok bool) {
	v := h.Get(name)
	end := strings.IndexFunc(v, func(r rune) bool { return !unicode.IsDigit(r) })
	if end >= 0 {
		v = v[:end]
	}
	n, err := strconv.ParseInt(v, 10, 64)
	return n, err == nil
}

// Procs returns the size of the machine: MaxProcs, else MaxNodes.
func (h Header) Procs() (int, bool) {
	for _, name := range []string{"MaxProcs", "MaxNodes"} {
		if n, ok := h.Int(name); ok && n > 0 && n <= 1<<30 {
			return int(n), true
		}
	}
	return 0, false
}

// add takes one comment line without its ";".
func (h *Header) add(text string) {
	text = strings.TrimSpace(text)
	name, value, ok := strings.Cut(text, ":")
	if !ok || strings.ContainsAny(name, " \t") {
		name, value = "", text
	}
	h.Labels = append(h.Labels, Label{name, strings.TrimSpace(value)})
}
