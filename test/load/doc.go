// Package load opens as many sockets on as many agents as a small machine
// carries, has all of them answer at once, and wants every frame of every answer.
//
//	go test -v ./test/load
//
// HOLDFAST_SOCKETS says how many (default 500; the product's measure is 2000).
package load
