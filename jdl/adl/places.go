package adl

import (
	"bytes"
	"encoding/xml"
	"fmt"

	"gridbroker/jdl/classad"
)

// Bounds of a text: how deep its elements lie within each other, and how many there
// are. A hundred thousand jobs have a million.
const (
	maxDepth    = 100
	maxElements = 2_000_000
	maxPart     = 1 << 20 // bytes between one "<" and the next: of a tag with its attributes and the text behind it
)

// longPart is an error about a part of the text that is longer than it may be. An XML decoder reads
// each whole before anyone can count it.
func longPart(file string, src []byte) error {
	for at := 0; at < len(src); {
		n := bytes.IndexByte(src[at:], '<')
		if n > maxPart || n < 0 && len(src)-at > maxPart {
			places := classad.Places{Src: string(src)}
			d := &classad.Diagnostic{Severity: classad.Fatal, File: file, Pos: places.At(max(0, at-1)), Code: "limit", Msg: "a tag with the text behind it is longer than 1 MiB"}
			return d.ShowLine(places.Src)
		}
		if n < 0 {
			break
		}
		at += n + 1
	}
	return nil
}

// elements finds where the elements of each description stand, by name. It ends where
// the text does, by a mistake or not, and is an error where that has more than it may.
func elements(src []byte) (map[int]map[string][]classad.Pos, error) {
	dec := newDecoder(bytes.NewReader(src))
	out := map[int]map[string][]classad.Pos{}
	places, n := classad.Places{Src: string(src)}, -1
	for depth, all := 0, 0; ; {
		offset := int(dec.InputOffset())
		tok, err := dec.Token()
		if err != nil {
			return out, nil
		}
		if _, ends := tok.(xml.EndElement); ends {
			depth--
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		if depth, all = depth+1, all+1; depth > maxDepth || all > maxElements {
			return nil, fmt.Errorf("more than %d elements, or more than %d within each other", maxElements, maxDepth)
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
	file   string
	places map[string][]classad.Pos
	to     func(*classad.Diagnostic)
}

// warn is about the element of that name that comes i-th, from 0.
func (t teller) warn(name string, i int, msg string) {
	d := &classad.Diagnostic{File: t.file, Code: "not-used", Msg: msg}
	if at := t.places[name]; i < len(at) {
		d.Pos = at[i]
	}
	t.to(d)
}
