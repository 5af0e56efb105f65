package glue

import (
	"errors"
	"testing"
)

// TestWordsAreNotGivenBack: what sources said counts for all that come after, when
// nothing of it is kept, and one of them cannot say it all.
func TestWordsAreNotGivenBack(t *testing.T) {
	all := NewPurse(100)
	part := all.Part(50)
	for range 2 {
		a := part.Account(50)
		if err := a.Hear(99); err != nil {
			t.Fatalf("99 bytes of one that may say %d: %v", ownWords*50, err)
		}
		if err := a.Hear(2); !errors.Is(err, ErrPurse) {
			t.Errorf("more than one may say: %v", err)
		}
		a.Settle(false)
	}
	if err := part.Account(50).Hear(0); !errors.Is(err, ErrPurse) {
		t.Errorf("one more of a branch that has said all: %v", err)
	}
	if err := all.Part(50).Account(50).Hear(100); err != nil {
		t.Errorf("another branch: %v", err)
	}
	var own *Account
	if err := own.Hear(1 << 40); err != nil {
		t.Errorf("a source of the user's own: %v", err)
	}
}
