package jobs

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// alphabet is Crockford's base 32: digits and lower-case letters without
// i, l, o, u. Its order is that of the bytes, so ids sort by time.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// timeDigits is how many characters of an id tell when it was made, idLength how many it has.
const (
	timeDigits = 9
	idLength   = timeDigits + 6
)

// newIDs makes n ids of 15 characters: 9 of milliseconds since 1970 (enough
// until the year 3084), 6 that start at random and count
// up, so that the ids of one call sort in its order.
func newIDs(now time.Time, n int) []string {
	var seed [8]byte
	rand.Read(seed[:]) // never fails (crypto/rand)
	random := binary.BigEndian.Uint64(seed[:]) % (1 << 29)
	ids := make([]string, n)
	for i := range ids {
		ids[i] = base32(uint64(now.UnixMilli()), timeDigits) + base32(random+uint64(i), idLength-timeDigits)
	}
	return ids
}

// leastID is the first of the ids that were made when a query wants them to be; "" for any.
func (q Query) leastID() string {
	if q.Made.IsZero() {
		return ""
	}
	return base32(uint64(max(0, q.Made.UnixMilli())), timeDigits)
}

func base32(v uint64, width int) string {
	text := make([]byte, width)
	for i := width - 1; i >= 0; i-- {
		text[i] = alphabet[v%32]
		v /= 32
	}
	return string(text)
}
