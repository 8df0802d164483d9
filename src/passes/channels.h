/* channels.h - what the files of pass `channels` share (private). */
#ifndef BURIN_PASSES_CHANNELS_H
#define BURIN_PASSES_CHANNELS_H

#include "passes/passes_private.h"

/* What is known of a tensor along one of its extents; range NULL: it is not followed. */
typedef struct along_axis {
    uint32_t axis;
    int64_t n;
    lang_range *range;
    bool multiplies; /* what makes it has multiply-accumulates */
} along_axis;

/* What a node does with the channels of one of its inputs. */
typedef enum channel_role {
    CHANNELS_UNTOUCHED, /* it reads nothing along that axis that would change: absent, a constant, another axis */
    CHANNELS_CARRIED,   /* channel c of the output is made of channel c */
    CHANNELS_SUMMED,    /* they are added up, each with factors of its own */
    CHANNELS_NEEDED     /* anything else */
} channel_role;

#define CHANNELS_OUTPUT 1u /* of an extent of a constant: it is that of the output's channels */
#define CHANNELS_INPUT 2u  /* plus the number of an input: that of its summed channels */

typedef struct node_roles {
    bool follows;       /* the output's channels may be dropped */
    channel_role *role; /* of each input */
    bool **absorbs; /* SUMMED: of each channel whether what it adds is the same in every run, wherever it is added */
    uint8_t (*extent)[IR_MAX_RANK]; /* of each input: of which channels its extents are, or 0 */
} node_roles;

typedef struct channel_finder {
    passes_edit *e;
    uint64_t work;     /* of ranges */
    along_axis *of;    /* each tensor */
    uint64_t *macs;    /* of each node */
    node_roles *roles; /* each node */
    uint32_t *same;    /* of each tensor: another whose channels are kept with its own, itself at first */
    bool **kept;       /* of each tensor that stands for others: of each channel */
    bool *stays;       /* of each node: it could not be said with fewer channels */
} channel_finder;

/* ---- channels.c ---- */
/* The one stage that makes output 0 of the node, in a folded and simplified program, in scratch; NULL: there are more, or it
 * cannot be followed. */
const lang_stage *channels_stage(const channel_finder *f, base_arena *scratch, const ir_node *n, const lang_program **p,
                                 uint64_t *macs);
/* The tensor that stands for t. */
uint32_t channels_class(const channel_finder *f, uint32_t t);
/* Tells the analysis what is known of the node's inputs. */
void channels_tell(const channel_finder *f, lang_along *a, const lang_program *p, const ir_node *n);

/* ---- channels_roles.c ---- */
/* Which output variable the output's channels are: of constants for each channel, or an input's; else the last. */
uint32_t channels_axis(const channel_finder *f, base_arena *scratch, const lang_program *p, const lang_stage *s,
                       const ir_node *n);
void channels_find_roles(channel_finder *f, const ir_node *n, node_roles *out);

/* ---- channels_drop.c ---- */
/* Nodes with only those channels that are kept, in place of those there were; what is saved is counted. false: nodes that cannot
 * be said so are marked as staying, and nothing has changed. */
bool channels_drop(channel_finder *f, passes_channel_counts *saved);
/* Bytes of the node's constants. */
uint64_t channels_constants(const ir_graph *g, const ir_node *n);

#endif
