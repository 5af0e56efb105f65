// Package packed writes resources for the cache of answers, and reads them back.
//
// It is a form of our own, and looks at memory by package unsafe, for its speed:
// of 10,542 resources (300 sites, both schemas) reading took 54 ms where
// encoding/gob took 661 ms and encoding/json 3,843 ms (the same machine, loaded,
// one run), with 13 MB in 4,000 allocations for 163 MB in 1,464,000 and 193 MB in
// 1,866,000, and a file of 1.9 MB for 30 and 40 MB. A whole match from the cache
// takes 0.07 s on a quiet machine; with any form that makes each text and list
// anew it would be above 0.15 s, and need more memory than a cold one.
//
// What several resources share is written once, by where it lies in memory. Text
// is not copied: it refers to the data read. The form follows the fields of
// glue.Resource; a fingerprint of their names and types stands in front, so that
// another version of the program does not misread it, and a checksum.
package packed
