package durable

import "strings"

// SamePlace reports whether two places that PlaceOf told are one: a copy of a file or directory is
// another, one that was moved within its file system is the same. By the time at which it was made
// where both tell that, else by its number.
func SamePlace(a, b string) bool {
	numberA, madeA, _ := strings.Cut(a, " ")
	numberB, madeB, _ := strings.Cut(b, " ")
	if madeA != "" && madeB != "" {
		return madeA == madeB
	}
	return numberA == numberB
}
