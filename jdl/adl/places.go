package adl

import (
	"bytes"
	"encoding/xml"

	"gridbroker/jdl/classad"
)

// elements finds where the elements of each description stand, by name.
func elements(src []byte) map[int]map[string][]classad.Pos {
	dec := newDecoder(bytes.NewReader(src))
	out := map[int]map[string][]classad.Pos{}
	places, n := classad.Places{Src: string(src)}, -1
	for {
		offset := int(dec.InputOffset())
		tok, err := dec.Token()
		if err != nil {
			return out
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local == "ActivityDescription" {
			n++
			out[n] = map[string][]classad.Pos{}
		}
		if start.Name.Local == "FailIfExitCodeNotEqualTo" && zero(dec) {
			continue // as every program is judged here
		}
		if n >= 0 {
			out[n][start.Name.Local] = append(out[n][start.Name.Local], places.At(offset))
		}
	}
}

// zero reports whether the text that follows is the number 0.
func zero(dec *xml.Decoder) bool {
	tok, _ := dec.Token()
	text, _ := tok.(xml.CharData)
	return string(bytes.TrimSpace(text)) == "0"
}

// teller warns of elements of one description.
type teller struct {
	file, src string
	places    map[string][]classad.Pos
	to        func(*classad.Diagnostic)
}

// warn is about the element of that name that comes i-th, from 0.
func (t teller) warn(name string, i int, msg string) {
	d := &classad.Diagnostic{File: t.file, Code: "not-used", Msg: msg}
	if at := t.places[name]; i < len(at) {
		d.Pos = at[i]
		d.ShowLine(t.src)
	}
	t.to(d)
}
