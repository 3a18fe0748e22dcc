// Command cmd serves package providerwire's Script, for tests that are not
// written in Go:
//
//	go run ./test/providerwire/cmd -listen 127.0.0.1:8790
//
// It prints the URL when it serves. GET /requests shows what was asked.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-dev/holdfast/test/providerwire"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to serve on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := providerwire.Listen(*listen, providerwire.Script())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, s.URL)
	<-ctx.Done()
	s.Close() //nolint:errcheck // the process ends
}
