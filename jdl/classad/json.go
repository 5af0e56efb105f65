package classad

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// In JSON an expression that is not a constant is the string "/Expr(text)/",
// as HTCondor's ClassAd library writes it.
const (
	jsonExprOpen  = "/Expr("
	jsonExprClose = ")/"
)

// MarshalJSON writes the record as a JSON object, its attributes in order.
// ParseAdJSON reads the same record from it. A name that is not UTF-8 is an
// error.
func (a *Ad) MarshalJSON() ([]byte, error) {
	if name, ok := nameNotUTF8(a); ok {
		return nil, fmt.Errorf("attribute %q: JSON holds only names in UTF-8", name)
	}
	var b bytes.Buffer
	writeJSONAd(&b, a)
	return b.Bytes(), nil
}

// nameNotUTF8 finds a name that writeJSONExpr cannot write.
func nameNotUTF8(e Expr) (name string, found bool) {
	switch e := e.(type) {
	case *ListExpr:
		for _, x := range e.Elems {
			if name, found = nameNotUTF8(x); found {
				return name, true
			}
		}
	case *Ad:
		for _, t := range e.Attrs() {
			if !utf8.ValidString(t.Name) {
				return t.Name, true
			}
			if name, found = nameNotUTF8(t.Expr); found {
				return name, true
			}
		}
	}
	return "", false
}

func writeJSONAd(b *bytes.Buffer, a *Ad) {
	b.WriteByte('{')
	for i, t := range a.Attrs() {
		if i > 0 {
			b.WriteByte(',')
		}
		writeJSONString(b, t.Name)
		b.WriteByte(':')
		writeJSONExpr(b, t.Expr)
	}
	b.WriteByte('}')
}

func writeJSONExpr(b *bytes.Buffer, e Expr) {
	switch e := e.(type) {
	case *Ad:
		writeJSONAd(b, e)
		return
	case *ListExpr:
		b.WriteByte('[')
		for i, x := range e.Elems {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSONExpr(b, x)
		}
		b.WriteByte(']')
		return
	case *Literal:
		if writeJSONLiteral(b, e) {
			return
		}
	}
	writeJSONString(b, jsonExprOpen+Unparse(e)+jsonExprClose)
}

// writeJSONLiteral writes a constant that JSON has, and reports whether it
// did.
func writeJSONLiteral(b *bytes.Buffer, l *Literal) bool {
	v := l.Value
	f, isNumber := v.Number()
	s, isText := v.Str()
	switch {
	case v.IsUndefined():
		b.WriteString("null")
	case v.Kind() == Bool:
		fmt.Fprint(b, v.IsTrue())
	case v.Kind() == Int:
		i, _ := v.Int()
		fmt.Fprint(b, i)
	case isNumber && l.Unit == 0 && !math.IsInf(f, 0) && !math.IsNaN(f) && f != 0:
		fmt.Fprintf(b, "%.17e", f)
	case isText && utf8.ValidString(s) && !isJSONExpr(s):
		writeJSONString(b, s)
	default:
		return false
	}
	return true
}

func isJSONExpr(s string) bool {
	return strings.HasPrefix(s, jsonExprOpen) && strings.HasSuffix(s, jsonExprClose)
}

func writeJSONString(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string into memory: neither can fail
	b.Truncate(b.Len() - 1)
}

// ParseAdJSON reads a JSON object as a record: strings "/Expr(text)/" are
// expressions, null is UNDEFINED. The error is a *Diagnostic with the place.
func ParseAdJSON(file string, src []byte) (*Ad, error) {
	ads, err := ReadJSON(file, src)
	if err != nil {
		return nil, err
	}
	if len(ads) != 1 {
		return nil, &Diagnostic{Severity: Fatal, File: file, Code: "json", Msg: "the text is a list of records, and one is wanted"}
	}
	return ads[0], nil
}

// ReadJSON reads an object, or a list of objects.
func ReadJSON(file string, src []byte) ([]*Ad, error) {
	r := jsonReader{file: file, dec: json.NewDecoder(bytes.NewReader(src)), place: Places{Src: string(src)}}
	r.dec.UseNumber()
	if at := NotUTF8(src); at >= 0 { // the decoder would put another character in its place
		d := &Diagnostic{Severity: Fatal, File: file, Pos: r.place.At(at), Code: "json", Msg: "the text is not UTF-8, as JSON is", Hint: "save it as UTF-8"}
		return nil, d.ShowLine(r.place.Src)
	}
	e, err := r.value(0)
	if err != nil {
		return nil, inBraces(file, src, err)
	}
	if _, err = r.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, r.fail("text after the end")
	}
	elems := []Expr{e}
	if l, ok := e.(*ListExpr); ok && len(l.Elems) > 0 {
		elems = l.Elems
	}
	var ads []*Ad
	for _, e := range elems {
		ad, ok := e.(*Ad)
		if !ok {
			return nil, r.fail("the text is not a JSON object, nor a list of objects")
		}
		ads = append(ads, ad)
	}
	return ads, nil
}

// inBraces says so where a text that is no JSON is a record in the brackets of lists.
func inBraces(file string, src []byte, err error) error {
	body := bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimSpace(src), []byte("{")), " \t\r\n")
	name := body[:len(body)-len(bytes.TrimLeft(body, "_.ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"))]
	rest := bytes.TrimLeft(body[len(name):], " \t")
	if len(name) == 0 || !bytes.HasPrefix(rest, []byte("=")) {
		return err
	}
	d := &Diagnostic{Severity: Fatal, File: file, Pos: (&Places{Src: string(src)}).At(bytes.IndexByte(src, '{')), Code: "brackets",
		Msg: "a record stands in [ ], and { } are the brackets of lists", Hint: "write [ " + string(name[:min(len(name), 40)]) + " = ...; ], or no brackets at all"}
	return d.ShowLine(string(src))
}

// NotUTF8 is the first byte of a text that is no part of UTF-8; -1: there is none.
func NotUTF8(src []byte) int {
	if utf8.Valid(src) {
		return -1
	}
	at := 0
	for {
		r, n := utf8.DecodeRune(src[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
}

type jsonReader struct {
	file  string
	dec   *json.Decoder
	place Places
}

func (r *jsonReader) pos() Pos { return r.place.At(int(r.dec.InputOffset())) }

// Places turns offsets into places. Offsets that grow cost one pass over
// the text in all.
type Places struct {
	Src              string
	last, line, from int // the last offset asked for, its line from 0, where that line starts
}

// At is the place of an offset in bytes.
func (f *Places) At(offset int) Pos {
	offset = min(max(0, offset), len(f.Src))
	if offset < f.last {
		f.last, f.line, f.from = 0, 0, 0
	}
	between := f.Src[f.last:offset]
	if n := strings.Count(between, "\n"); n > 0 {
		f.line += n
		f.from = f.last + strings.LastIndexByte(between, '\n') + 1
	}
	f.last = offset
	return Pos{Line: f.line + 1, Col: offset - f.from + 1}
}

func (r *jsonReader) fail(format string, args ...any) error {
	d := &Diagnostic{Severity: Fatal, File: r.file, Pos: r.pos(), Code: "json", Msg: fmt.Sprintf(format, args...)}
	d.ShowLine(r.place.Src)
	return d
}

func (r *jsonReader) value(depth int) (Expr, error) {
	if depth > mostNested {
		return nil, r.fail("nested too deeply")
	}
	tok, err := r.token()
	if err != nil {
		return nil, err
	}
	node := at{pos: r.pos()}
	switch t := tok.(type) {
	case json.Delim:
		if t == '[' {
			return r.list(depth, node)
		}
		return r.object(depth, node)
	case bool:
		return &Literal{at: node, Value: BoolValue(t)}, nil
	case json.Number:
		return r.jsonNumber(t, node)
	case string:
		return r.jsonString(t, node)
	}
	return &Literal{at: node}, nil
}

// token reads the next token. A NUL, which no string of the language can hold,
// is refused.
func (r *jsonReader) token() (json.Token, error) {
	tok, err := r.dec.Token()
	if err != nil {
		return nil, r.fail("%v", err)
	}
	if s, ok := tok.(string); ok && strings.IndexByte(s, 0) >= 0 {
		return nil, r.fail("NUL character in a text")
	}
	return tok, nil
}

func (r *jsonReader) jsonNumber(n json.Number, node at) (Expr, error) {
	if i, err := n.Int64(); err == nil {
		return &Literal{at: node, Value: IntValue(i)}, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, r.fail("%s is out of range", n)
	}
	return &Literal{at: node, Value: RealValue(f)}, nil
}

func (r *jsonReader) jsonString(s string, node at) (Expr, error) {
	if !isJSONExpr(s) {
		return &Literal{at: node, Value: StringValue(s)}, nil
	}
	text := strings.TrimSuffix(strings.TrimPrefix(s, jsonExprOpen), jsonExprClose)
	e, err := ParseExpr(r.file, []byte(text))
	if d, ok := errors.AsType[*Diagnostic](err); ok {
		return nil, r.fail("expression %s: %s", text, d.Msg)
	}
	return e, err
}

func (r *jsonReader) list(depth int, node at) (Expr, error) {
	l := &ListExpr{at: node}
	for r.dec.More() {
		e, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		l.Elems = append(l.Elems, e)
	}
	if _, err := r.token(); err != nil {
		return nil, err
	}
	return l, nil
}

func (r *jsonReader) object(depth int, node at) (Expr, error) {
	ad := &Ad{at: node}
	for r.dec.More() {
		key, err := r.token()
		if err != nil {
			return nil, err
		}
		name, namePos := fmt.Sprint(key), r.pos()
		e, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if ad.Put(Attr{Name: name, Expr: e, NamePos: namePos}) {
			return nil, r.fail("attribute %s is given twice", name)
		}
	}
	if _, err := r.token(); err != nil {
		return nil, err
	}
	return ad, nil
}
