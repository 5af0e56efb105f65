package foreign

import "bytes"

// Values is how many values a JSON text holds: each takes up to a hundred times the bytes in
// memory that it has in the text, so that they are counted before any of it is taken in.
type Values struct {
	Lists, Objects int // that are opened
	Elements       int // of lists, each that stands after a comma
	Members        int // of objects, each that stands after a comma
	Texts          int // of Elements those that are texts, of Members all
}

// maxDepth is how many lists and objects may stand in one another: encoding/json takes in
// nothing of a text that has more.
const maxDepth = 10_000

// CountValues reads a text once, as far as there are not too many. Of one that is no JSON it
// counts what looks as if it were, and of one with too much in one another what comes before that.
func CountValues(text []byte, tooMany func(Values) bool) (v Values) {
	var lists []bool // of what is open, outermost first: is it a list
	comma := false   // right before
	for i := 0; i < len(text) && len(lists) <= maxDepth; i++ {
		if comma && tooMany(v) {
			break
		}
		c := text[i]
		switch c {
		case ' ', '\t', '\n', '\r':
			continue
		case '"':
			if comma {
				v.Texts++
			}
			i = closing(text, i)
		case '[':
			v.Lists++
			lists = append(lists, true)
		case '{':
			v.Objects++
			lists = append(lists, false)
		case ']', '}':
			lists = lists[:max(0, len(lists)-1)]
		case ',':
			if len(lists) > 0 && lists[len(lists)-1] {
				v.Elements++
			} else {
				v.Members++
			}
		}
		comma = c == ','
	}
	return v
}

// closing is where the text ends whose quotation mark stands at i.
func closing(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// SignsOfTOML counts the signs of a text of TOML with which a line, a key, a table, a list or an element of one may begin or
// end, wherever they stand: each may take three hundred bytes in memory.
func SignsOfTOML(text []byte) (n int) {
	for _, sign := range []string{"\n", "=", ".", ",", "[", "{"} {
		n += bytes.Count(text, []byte(sign))
	}
	return n
}
