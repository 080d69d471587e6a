/*
 * For IBM's zcryptstats, in qemu's user mode: answers what it asks the channel subsystem by ioctl(2) of /dev/chsc, the measurement blocks
 * of cards (store crypto measurement data, code 102e) and of their domains (102d). CHSC_COUNTERS names a file with a line for each of them:
 *   card domain is-domain type mode count  then for each counter: time, number, and what both grow by from one measurement to the next
 * Times are in 2^-9 seconds. Everything is in the byte order of s390x, for which this is built.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CARDS = 0x102e, DOMAINS = 0x102d, OK = 1, MAX = 32 };

struct header {
	uint16_t length, code;
};

struct block {
	uint8_t reserved, type, format, card;
	float scale;
	uint32_t valid;
	uint8_t domain, mode;
	uint16_t length;
	struct {
		uint64_t time, number;
	} counter[MAX];
};

static unsigned measurements;

/* Appends the blocks of all cards, or of the domains of one. */
static size_t blocks(uint8_t *to, int domains, unsigned of)
{
	FILE *file = fopen(getenv("CHSC_COUNTERS"), "r");
	unsigned card, domain, is_domain, type, mode, count;
	size_t size = 0;

	if (!file)
		abort();
	while (fscanf(file, "%u %u %u %u %u %u", &card, &domain, &is_domain, &type, &mode, &count) == 6) {
		struct block block = { .type = type, .format = is_domain, .card = card, .scale = 1.0f / 512, .domain = domain, .mode = mode };

		for (unsigned i = 0; i < count; i++) {
			unsigned long time, number, more_time, more;

			if (i >= MAX || fscanf(file, "%lu %lu %lu %lu", &time, &number, &more_time, &more) != 4)
				abort();
			block.valid |= UINT32_C(0x80000000) >> i;
			block.counter[i].time = time + (measurements - 1) * more_time;
			block.counter[i].number = number + (measurements - 1) * more;
		}
		block.length = 16 + 16 * count;
		if (is_domain != (unsigned)domains || (domains && card != of))
			continue;
		memcpy(to + size, &block, block.length);
		size += block.length;
	}
	fclose(file);
	return size;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct header head;
	uint8_t *area;
	va_list list;
	int domains;

	(void)fd;
	(void)request;
	va_start(list, request);
	area = va_arg(list, uint8_t *);
	va_end(list);
	memcpy(&head, area, sizeof(head));
	if (head.code != CARDS && head.code != DOMAINS)
		abort();
	domains = head.code == DOMAINS;
	if (!domains)
		measurements++;
	/* The answer follows the request, whose length says where. */
	area += head.length;
	memset(area, 0, 16);
	head.length = 16 + blocks(area + 16, domains, domains ? area[4 - (int)head.length] : 0);
	head.code = OK;
	memcpy(area, &head, sizeof(head));
	return 0;
}
