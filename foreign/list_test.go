package foreign

import (
	"errors"
	"slices"
	"testing"
)

// TestList: a list is read as far as it may be long, and what is none is told apart from what is too long or bad.
func TestList(t *testing.T) {
	for text, want := range map[string]error{`[]`: nil, ` [1, 2,3]`: nil, `[1,2,3,4]`: ErrMany, `null`: ErrNoList, `{}`: ErrNoList, ``: ErrNoList, `7`: ErrNoList} {
		list, err := List[int]([]byte(text), 3)
		if !errors.Is(err, want) || err == nil && len(list) > 0 && !slices.Equal(list, []int{1, 2, 3}) {
			t.Errorf("%s: %v, %v, want %v", text, list, err, want)
		}
	}
	for _, text := range []string{`[1,"a"]`, `[1 2]`} {
		if list, err := List[int]([]byte(text), 3); err == nil || errors.Is(err, ErrMany) || errors.Is(err, ErrNoList) {
			t.Errorf("%s: %v, %v", text, list, err)
		}
	}
}
