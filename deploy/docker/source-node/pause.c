/*
 * The process that holds a pod's namespaces: it does nothing, reaps what is orphaned to it, and ends
 * on TERM or INT. Built static, alone in its image.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal)
{
	(void)signal;
	_exit(0);
}

static void reap(int signal)
{
	(void)signal;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

int main(void)
{
	struct sigaction action = {.sa_handler = end};
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	action.sa_handler = reap;
	action.sa_flags = SA_NOCLDSTOP;
	sigaction(SIGCHLD, &action, NULL);
	for (;;)
		pause();
}
