// Package readahead keeps portions of slow files close to their readers and
// fetches the next ones before they are asked for.
//
// A file is cut into portions of equal size. A Table knows which portions a
// cache holds, each once: a cell is free, on its way, or valid; the least
// recently used one makes room. Two levels stand behind each other: a system's
// cache holds portions of remote files for all of its nodes, a node's cache
// holds what this node reads. At every read of portion k the portions k+1 to
// k+D that are neither held nor on their way are asked for as well.
//
// Cache does this for real, over any io.ReaderAt; Model counts the time that a
// program would take in a simulated system. Both decide by the same Table.
package readahead
