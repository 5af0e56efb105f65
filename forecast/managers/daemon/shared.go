package daemon

// shared is so much of something that certificates hold, each up to a bound, and all of them together. Where all of it is in use,
// an eighth more is there for those who hold no more than their part of that: many certificates of one hand leave room for others.
// As parts become smaller with each that comes, and who had one keeps it, that adds up to (ln n)/8 for n of them.
type shared struct {
	of  map[string]int64
	sum int64
}

// fits tells whether one may hold so much more.
func (s *shared) fits(who string, more, each, all int64) bool {
	has := s.of[who] + more
	if has > each {
		return false
	}
	holders := int64(len(s.of))
	if s.of[who] == 0 {
		holders++
	}
	return s.sum+more <= all || has <= all/8/holders
}

// add has one hold so much more, or less.
func (s *shared) add(who string, more int64) {
	if s.of == nil {
		s.of = map[string]int64{}
	}
	s.sum += more
	if s.of[who] += more; s.of[who] <= 0 {
		s.sum -= s.of[who]
		delete(s.of, who)
	}
}
