package scheduler

import (
	"net/url"
	"strings"
)

// Called is how the page names somebody: nameCuts, and whole for who asks.
type Called struct{ Key, Short, Whole string }

// Called is how somebody is named at a place of the page, which the key tells from others.
func (v *Look) Called(whole, key string) Called {
	if v.names == nil {
		list := []string{v.Person.Subject}
		for i := range v.Queue {
			list = append(list, v.Queue[i].Owner)
		}
		for i := range v.Budgets {
			list = append(list, v.Budgets[i].User)
		}
		v.names = brief(list)
	}
	return Called{key, v.names[whole], whole}
}

// nameCuts are the lengths to which the issuer's names of people are cut, shortest first.
var nameCuts = [...]int{8, 16, 36}

// brief shortens subjects of tokens, ISSUER#SUBJECT, to as much as tells them apart among those of a list: the beginning of what
// the issuer calls them, and the issuer's host. Others stay as they are.
func brief(list []string) map[string]string {
	names := make(map[string]string, len(list))
	for _, whole := range list {
		names[whole] = whole
	}
	for _, most := range nameCuts {
		taken := make(map[string]int, len(names))
		for whole := range names {
			taken[cutName(whole, most)]++
		}
		for whole, short := range names {
			if cut := cutName(whole, most); short == whole && taken[cut] == 1 {
				names[whole] = cut
			}
		}
	}
	return names
}

// cutName is a token's subject with so many characters of what the issuer calls it at most.
func cutName(whole string, most int) string {
	issuer, of, is := strings.Cut(whole, "#")
	at, err := url.Parse(issuer)
	if !is || err != nil || at.Host == "" {
		return whole
	}
	if long := []rune(of); len(long) > most {
		of = string(long[:most]) + "…"
	}
	return of + " at " + at.Host
}
