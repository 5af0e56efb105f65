package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"gridbroker/foreign"
	"gridbroker/rank"
)

// PositionError is a mistake in a scenario file.
type PositionError struct {
	File         string
	Line, Column int // 0: the file as a whole
	Err          error
}

// Error implements error.
func (e *PositionError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err)
}

// Unwrap returns the mistake.
func (e *PositionError) Unwrap() error { return e.Err }

// FieldError is a value that makes no sense; Path names it, as in site.2.procs.
type FieldError struct {
	Path string
	Err  error
}

// Error implements error.
func (e *FieldError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns what is wrong with it.
func (e *FieldError) Unwrap() error { return e.Err }

func wrong(path, format string, args ...any) error {
	return &FieldError{path, fmt.Errorf(format, args...)}
}

// longestText bounds a scenario's text, in bytes.
const longestText = 16 << 20

// mostSigns bounds the lines, keys, tables and elements of a scenario together: each takes up to three hundred
// bytes in memory, and ten thousand sites with ten keys each have half as many.
const mostSigns = 500_000

// mark is the byte order mark, which editors of Windows put before a text.
var mark = []byte("\uFEFF")

// Load reads a scenario from what was opened of a file, and the traces that it names.
func Load(file string, in io.Reader) (*Scenario, error) {
	text, err := io.ReadAll(io.LimitReader(in, longestText+1))
	if err == nil && len(text) > longestText {
		err = fmt.Errorf("%s: longer than %d MiB", file, longestText>>20)
	}
	if err != nil {
		return nil, err
	}
	s, err := Parse(file, text)
	if err != nil {
		return nil, err
	}
	if err := s.readTraces(filepath.Dir(file), maxTrace); err != nil {
		return nil, placed(file, bytes.TrimPrefix(text, mark), err)
	}
	return s, nil
}

// Parse reads a scenario; a byte order mark before it is skipped. Unknown keys are mistakes. Traces are not read; see Load.
func Parse(file string, text []byte) (*Scenario, error) {
	text = bytes.TrimPrefix(text, mark)
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("%s: no text in UTF-8: want a scenario in TOML, which names traces by trace = \"FILE\"", file)
	}
	if foreign.SignsOfTOML(text) > mostSigns {
		return nil, fmt.Errorf("%s: more lines, keys and values than a scenario has: this is hardly the right file", file)
	}
	s := &Scenario{Seeds: 5, Policies: []string{rank.Random, rank.FastestQueue, rank.Hybrid}}
	if err := misfit(file, text); err != nil {
		return nil, err
	}
	dec := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := dec.Decode(s); err != nil {
		return nil, positioned(file, text, err)
	}
	if err := s.Check(); err != nil {
		return nil, placed(file, text, err)
	}
	return s, nil
}

func positioned(file string, text []byte, err error) error {
	decode, ok := errors.AsType[*toml.DecodeError](err)
	if !ok {
		return &PositionError{File: file, Err: err}
	}
	line, column := decode.Position()
	said := strings.TrimPrefix(decode.Error(), "toml: ")
	if key := strings.Join(decode.Key(), "."); key != "" {
		said = key + ": " + said
	}
	if sign := behindNumber(text, line, column); sign == ',' || sign == '%' {
		said += "; numbers are written with a point and shares without a sign: 0.3"
	}
	return &PositionError{file, line, column, errors.New(said)}
}

// behindNumber is the sign at a place that has a digit before it, and spaces between; else 0.
func behindNumber(text []byte, line, column int) byte {
	for range line - 1 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	if column < 2 || column > len(text) {
		return 0
	}
	if before := bytes.TrimRight(text[:column-1], " "); len(before) == 0 || before[len(before)-1] < '0' || before[len(before)-1] > '9' {
		return 0
	}
	return text[column-1]
}

// placed finds the place of a wrong value: its key, or the table in which it is missing.
func placed(file string, text []byte, err error) error {
	e := &PositionError{File: file, Err: err}
	var field *FieldError
	if !errors.As(err, &field) {
		return e
	}
	p := &unstable.Parser{}
	p.Reset(text)
	at := places(p)
	for path := field.Path; path != ""; path = parent(path) {
		if key, ok := at[path]; ok {
			start := p.Shape(key).Start
			e.Line, e.Column = start.Line, start.Column
			break
		}
	}
	return e
}

func parent(path string) string {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)]
}

// places lists where keys and tables stand, by path; tables of an array are
// numbered from 1.
func places(p *unstable.Parser) map[string]unstable.Range {
	at := map[string]unstable.Range{}
	count := map[string]int{}
	prefix := ""
	for p.NextExpression() {
		e := p.Expression()
		var parts []string
		var first unstable.Range
		for k := e.Key(); k.Next(); {
			if len(parts) == 0 {
				first = k.Node().Raw
			}
			parts = append(parts, string(k.Node().Data))
		}
		path := strings.Join(parts, ".")
		switch e.Kind {
		case unstable.ArrayTable:
			count[path]++
			path = fmt.Sprint(path, ".", count[path])
			prefix = path + "."
		case unstable.Table:
			prefix = path + "."
		case unstable.KeyValue:
			path = prefix + path
		default:
			continue
		}
		at[path] = first
	}
	return at
}
