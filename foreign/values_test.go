package foreign

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestCountValues: values are counted as they are, whatever stands in texts.
func TestCountValues(t *testing.T) {
	for text, want := range map[string]Values{
		``:                          {},
		`{}`:                        {Objects: 1},
		`{"a":1,"b":2}`:             {Objects: 1, Members: 1, Texts: 1},
		`[1,2,3]`:                   {Lists: 1, Elements: 2},
		`["a","b" , "c"]`:           {Lists: 1, Elements: 2, Texts: 2},
		`["a,{[\",\\",0]`:           {Lists: 1, Elements: 1},
		"[0,\n\t\"a\"]":             {Lists: 1, Elements: 1, Texts: 1},
		`{"a":[{},{"b":[1,2]}]}`:    {Lists: 2, Objects: 3, Elements: 2},
		`[[],{"a":"b","c":null},0]`: {Lists: 2, Objects: 1, Elements: 2, Members: 1, Texts: 1},
		`]],,[,`:                    {Lists: 1, Elements: 1, Members: 2},
		`[ , , `:                    {Lists: 1, Elements: 2},
		`"`:                         {},
		`"\`:                        {},
		`\`:                         {},
	} {
		if got := CountValues([]byte(text), never); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	deep := CountValues([]byte(strings.Repeat("[", 1<<20)), never)
	if deep.Lists != maxDepth+1 {
		t.Errorf("%d lists", deep.Lists)
	}
	few := CountValues([]byte("[[[1,2,3,4],5],6]"), func(v Values) bool { return v.Elements > 2 })
	if few.Elements != 3 {
		t.Errorf("%d elements", few.Elements)
	}
	var v any
	if json.Unmarshal([]byte(strings.Repeat("[", maxDepth+1)+strings.Repeat("]", maxDepth+1)), &v) == nil {
		t.Error("encoding/json takes in what is not counted")
	}
}

func never(Values) bool { return false }

// FuzzCountValues: of what encoding/json takes in no value is left out.
func FuzzCountValues(f *testing.F) {
	f.Add([]byte(`{"a":[1,"b",{"c":null}],"d":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var in any
		if json.Unmarshal(text, &in) != nil {
			return
		}
		v := CountValues(text, never)
		lists, objects, values := held(in)
		if v.Lists < lists || v.Objects < objects || v.Lists+v.Objects+v.Elements+v.Members+1 < values {
			t.Errorf("%q: %+v, but %d lists, %d objects, %d values", text, v, lists, objects, values)
		}
	})
}

// held counts what a value holds, itself too.
func held(in any) (lists, objects, values int) {
	var inside []any
	switch in := in.(type) {
	case []any:
		lists, inside = 1, in
	case map[string]any:
		objects = 1
		for _, one := range in {
			inside = append(inside, one)
		}
	}
	for _, one := range inside {
		l, o, n := held(one)
		lists, objects, values = lists+l, objects+o, values+n
	}
	return lists, objects, values + 1
}
