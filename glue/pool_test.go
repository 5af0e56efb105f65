package glue

import (
	"fmt"
	"testing"
	"unsafe"
)

// Equal texts are one string, however many others there are.
func TestPool(t *testing.T) {
	var p pool
	const n = 10_000
	first := make([]string, n)
	for i := range n {
		first[i] = p.str(fmt.Appendf(nil, "text %d", i))
	}
	for i := range n {
		again := p.str(fmt.Appendf(nil, "text %d", i))
		if again != first[i] || unsafe.StringData(again) != unsafe.StringData(first[i]) {
			t.Fatalf("%q is %q", first[i], again)
		}
	}
	if p.str(nil) != "" || p.n != n || p.bytes != n*pooledCost+len("text 0")*10+len("text 00")*90+len("text 000")*900+len("text 0000")*9000 {
		t.Errorf("%d strings of %d bytes", p.n, p.bytes)
	}
}
